from numba import cuda, int32

TREE = 8


@cuda.jit
def tree(x, out):
    values = cuda.shared.array(TREE, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    values[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = TREE // 2
    while half > 0:
        if t < half:
            values[t] += values[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = values[0]
