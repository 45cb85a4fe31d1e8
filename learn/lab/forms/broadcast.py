from numba import cuda


@cuda.jit
def broadcast(a, b, out):
    column, row = cuda.grid(2)
    if row < a.size and column < b.size:
        out[row * b.size + column] = a[row] + b[column]
