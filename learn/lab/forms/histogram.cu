#define BINS 4

extern "C" __global__ void histogram(const unsigned *values, unsigned *counts, int n) {
    __shared__ unsigned own[BINS];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    own[t] = 0;
    __syncthreads();
    if (i < n) {
        atomicAdd(&own[values[i]], 1);
    }
    __syncthreads();
    atomicAdd(&counts[t], own[t]);
}
