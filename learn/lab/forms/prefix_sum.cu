#define THREADS 8

extern "C" __global__ void prefix_sum(const int *x, int *out, int n) {
    __shared__ int sums[THREADS];
    int t = threadIdx.x;
    int i = blockIdx.x * THREADS + t;
    sums[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < THREADS; distance *= 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();
        sums[t] += left;
        __syncthreads();
    }
    if (i < n) {
        out[i] = sums[t];
    }
}
