from numba import cuda, int32

THREADS = 8


@cuda.jit
def prefix_sum(x, out):
    sums = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    sums[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    distance = 1
    while distance < THREADS:
        left = sums[t - distance] if t >= distance else 0
        cuda.syncthreads()
        sums[t] += left
        cuda.syncthreads()
        distance *= 2
    if i < out.size:
        out[i] = sums[t]
