extern "C" __global__ void broadcast(const int *a, const int *b, int *out, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = a[row] + b[column];
    }
}
