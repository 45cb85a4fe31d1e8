from numba import cuda, int32

THREADS = 4
WEIGHTS = 3
TILE = THREADS + WEIGHTS - 1


@cuda.jit
def convolve(x, w, out):
    tile = cuda.shared.array(TILE, int32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * THREADS
    for k in range(t, TILE, THREADS):
        tile[k] = x[first + k] if first + k < x.size else 0
    cuda.syncthreads()
    if first + t < out.size:
        total = 0
        for k in range(WEIGHTS):
            total += w[k] * tile[t + k]
        out[first + t] = total
