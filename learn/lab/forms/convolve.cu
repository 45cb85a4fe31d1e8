#define THREADS 4
#define WEIGHTS 3
#define TILE (THREADS + WEIGHTS - 1)

extern "C" __global__ void convolve(const int *x, const int *w, int *out, int n) {
    __shared__ int tile[TILE];
    int t = threadIdx.x;
    int first = blockIdx.x * THREADS;
    for (int k = t; k < TILE; k += THREADS) {
        tile[k] = first + k < n ? x[first + k] : 0;
    }
    __syncthreads();
    if (first + t < n) {
        int sum = 0;
        for (int k = 0; k < WEIGHTS; k++) {
            sum += w[k] * tile[t + k];
        }
        out[first + t] = sum;
    }
}
