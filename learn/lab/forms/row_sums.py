from numba import cuda, int32

THREADS = 4


@cuda.jit
def row_sums(x, out, columns):
    sums = cuda.shared.array(THREADS, int32)
    t, row = cuda.threadIdx.x, cuda.blockIdx.x
    total = 0
    for column in range(t, columns, THREADS):
        total += x[row * columns + column]
    sums[t] = total
    cuda.syncthreads()
    if t == 0:
        for k in range(1, THREADS):
            total += sums[k]
        out[row] = total
