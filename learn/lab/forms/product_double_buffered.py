from numba import cuda, int32

TILE = 2


@cuda.jit
def element(x, rows, columns, row, k):
    return x[row * columns + k] if row < rows and k < columns else 0


@cuda.jit
def product_double_buffered(x, out, rows, columns):
    left = cuda.shared.array((2, TILE, TILE), int32)
    right = cuda.shared.array((2, TILE, TILE), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first_i, first_j = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    total, now = 0, 0
    left[now, ty, tx] = element(x, rows, columns, first_i + ty, tx)
    right[now, ty, tx] = element(x, rows, columns, first_j + ty, tx)
    cuda.syncthreads()
    for next_k in range(TILE, columns + TILE, TILE):
        left[1 - now, ty, tx] = element(x, rows, columns, first_i + ty, next_k + tx)
        right[1 - now, ty, tx] = element(x, rows, columns, first_j + ty, next_k + tx)
        for k in range(TILE):
            total += left[now, ty, k] * right[now, tx, k]
        cuda.syncthreads()
        now = 1 - now
    if first_i + ty < rows and first_j + tx < rows:
        out[(first_i + ty) * rows + first_j + tx] = total
