extern "C" __global__ void pool(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i < n) {
        int largest = x[2 * i];
        if (2 * i + 1 < n) {
            largest = max(largest, x[2 * i + 1]);
        }
        out[i] = largest;
    }
}
