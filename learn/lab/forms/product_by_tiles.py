from numba import cuda, int32

TILE = 2


@cuda.jit
def element(x, rows, columns, row, k):
    return x[row * columns + k] if row < rows and k < columns else 0


@cuda.jit
def product_by_tiles(x, out, rows, columns):
    left = cuda.shared.array((TILE, TILE), int32)
    right = cuda.shared.array((TILE, TILE), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first_i, first_j = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    total = 0
    for first_k in range(0, columns, TILE):
        left[ty, tx] = element(x, rows, columns, first_i + ty, first_k + tx)
        right[ty, tx] = element(x, rows, columns, first_j + ty, first_k + tx)
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[tx, k]
        cuda.syncthreads()
    if first_i + ty < rows and first_j + tx < rows:
        out[(first_i + ty) * rows + first_j + tx] = total
