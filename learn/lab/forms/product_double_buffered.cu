#define TILE 2

__device__ int element(const int *x, int rows, int columns, int row, int k) {
    return row < rows && k < columns ? x[row * columns + k] : 0;
}

extern "C" __global__ void product_double_buffered(const int *x, int *out, int rows, int columns) {
    __shared__ int left[2][TILE][TILE], right[2][TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int first_i = blockIdx.y * TILE, first_j = blockIdx.x * TILE;
    int sum = 0, now = 0;
    left[now][ty][tx] = element(x, rows, columns, first_i + ty, tx);
    right[now][ty][tx] = element(x, rows, columns, first_j + ty, tx);
    __syncthreads();
    for (int next_k = TILE; next_k < columns + TILE; next_k += TILE) {
        left[1 - now][ty][tx] = element(x, rows, columns, first_i + ty, next_k + tx);
        right[1 - now][ty][tx] = element(x, rows, columns, first_j + ty, next_k + tx);
        for (int k = 0; k < TILE; k++) {
            sum += left[now][ty][k] * right[now][tx][k];
        }
        __syncthreads();
        now = 1 - now;
    }
    if (first_i + ty < rows && first_j + tx < rows) {
        out[(first_i + ty) * rows + first_j + tx] = sum;
    }
}
