from math import exp

from numba import cuda, float32

ROW = 8
THREADS = 4


@cuda.jit
def softmax(x, out, columns):
    row = cuda.shared.array(ROW, float32)
    t, first = cuda.threadIdx.x, cuda.blockIdx.x * columns
    for column in range(t, columns, THREADS):
        row[column] = x[first + column]
    cuda.syncthreads()
    largest = row[0]
    for column in range(1, columns):
        largest = max(largest, row[column])
    total = float32(0)
    for column in range(columns):
        total += exp(row[column] - largest)
    for column in range(t, columns, THREADS):
        out[first + column] = exp(row[column] - largest) / total
