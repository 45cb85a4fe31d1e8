#define THREADS 4

extern "C" __global__ void row_sums(const int *x, int *out, int columns) {
    __shared__ int sums[THREADS];
    int t = threadIdx.x, row = blockIdx.x;
    int sum = 0;
    for (int column = t; column < columns; column += THREADS) {
        sum += x[row * columns + column];
    }
    sums[t] = sum;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < THREADS; k++) {
            sum += sums[k];
        }
        out[row] = sum;
    }
}
