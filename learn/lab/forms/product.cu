extern "C" __global__ void product(const int *a, const int *b, int *out, int rows, int inner,
                                   int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        int sum = 0;
        for (int k = 0; k < inner; k++) {
            sum += a[row * inner + k] * b[k * columns + column];
        }
        out[row * columns + column] = sum;
    }
}
