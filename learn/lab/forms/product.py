from numba import cuda


@cuda.jit
def product(a, b, out, rows, inner, columns):
    column, row = cuda.grid(2)
    if row < rows and column < columns:
        total = 0
        for k in range(inner):
            total += a[row * inner + k] * b[k * columns + column]
        out[row * columns + column] = total
