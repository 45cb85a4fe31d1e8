extern "C" __global__ void map(const int *x, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i] + 10;
}
