#define SIDE 4

extern "C" __global__ void transpose(const int *x, int *out, int rows, int columns) {
    __shared__ int tile[SIDE][SIDE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * SIDE + ty, column = blockIdx.x * SIDE + tx;
    if (row < rows && column < columns) {
        tile[ty][tx] = x[row * columns + column];
    }
    __syncthreads();
    row = blockIdx.y * SIDE + tx, column = blockIdx.x * SIDE + ty;
    if (row < rows && column < columns) {
        out[column * rows + row] = tile[tx][ty];
    }
}
