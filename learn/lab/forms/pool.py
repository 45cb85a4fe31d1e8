from numba import cuda


@cuda.jit
def pool(x, out):
    i = cuda.grid(1)
    if i < out.size:
        largest = x[2 * i]
        if 2 * i + 1 < x.size:
            largest = max(largest, x[2 * i + 1])
        out[i] = largest
