// `double` is a type in C, so the name has an underscore.
extern "C" __global__ void double_(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = 2 * x[i];
    }
}
