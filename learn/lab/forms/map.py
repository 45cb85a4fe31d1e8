from numba import cuda


@cuda.jit
def map(x, out):
    i = cuda.grid(1)
    out[i] = x[i] + 10
