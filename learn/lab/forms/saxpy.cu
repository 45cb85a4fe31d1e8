extern "C" __global__ void saxpy(int a, const int *x, int *y, int n) {
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        y[i] += a * x[i];
    }
}
