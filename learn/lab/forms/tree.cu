#define TREE 8

extern "C" __global__ void tree(const int *x, int *out, int n) {
    __shared__ int values[TREE];
    int t = threadIdx.x;
    int i = blockIdx.x * TREE + t;
    values[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = TREE / 2; half > 0; half /= 2) {
        if (t < half) {
            values[t] += values[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        out[blockIdx.x] = values[0];
    }
}
