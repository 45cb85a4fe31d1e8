from numba import cuda

ALL_LANES = 0xFFFFFFFF


@cuda.jit
def shuffle_sum(x, out):
    i = cuda.grid(1)
    value = x[i] if i < x.size else 0
    delta = 16
    while delta > 0:
        value += cuda.shfl_down_sync(ALL_LANES, value, delta)
        delta //= 2
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = value
