extern "C" __global__ void add_row(int *x, const int *b, int rows, int columns) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < rows * columns) {
        int row = t / columns, column = t % columns;
        x[row * columns + column] += b[column];
    }
}
