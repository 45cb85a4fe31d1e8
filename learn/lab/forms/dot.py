from numba import cuda, int32

THREADS = 4


@cuda.jit
def dot(x, y, out):
    products = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    products[t] = x[i] * y[i] if i < x.size else 0
    cuda.syncthreads()
    if t == 0:
        total = 0
        for k in range(THREADS):
            total += products[k]
        out[cuda.blockIdx.x] = total
