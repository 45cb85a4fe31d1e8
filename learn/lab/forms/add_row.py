from numba import cuda


@cuda.jit
def add_row(x, b, rows, columns):
    t = cuda.grid(1)
    if t < rows * columns:
        row, column = t // columns, t % columns
        x[row * columns + column] += b[column]
