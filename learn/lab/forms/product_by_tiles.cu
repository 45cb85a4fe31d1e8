#define TILE 2

__device__ int element(const int *x, int rows, int columns, int row, int k) {
    return row < rows && k < columns ? x[row * columns + k] : 0;
}

extern "C" __global__ void product_by_tiles(const int *x, int *out, int rows, int columns) {
    __shared__ int left[TILE][TILE], right[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int first_i = blockIdx.y * TILE, first_j = blockIdx.x * TILE;
    int sum = 0;
    for (int first_k = 0; first_k < columns; first_k += TILE) {
        left[ty][tx] = element(x, rows, columns, first_i + ty, first_k + tx);
        right[ty][tx] = element(x, rows, columns, first_j + ty, first_k + tx);
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            sum += left[ty][k] * right[tx][k];
        }
        __syncthreads();
    }
    if (first_i + ty < rows && first_j + tx < rows) {
        out[(first_i + ty) * rows + first_j + tx] = sum;
    }
}
