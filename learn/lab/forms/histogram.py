from numba import cuda, uint32

BINS = 4


@cuda.jit
def histogram(values, counts):
    own = cuda.shared.array(BINS, uint32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    own[t] = 0
    cuda.syncthreads()
    if i < values.size:
        cuda.atomic.add(own, values[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, own[t])
