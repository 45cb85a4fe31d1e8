from numba import cuda, int32

SIDE = 4
PADDED = SIDE + 1


@cuda.jit
def transpose(x, out, rows, columns):
    tile = cuda.shared.array((SIDE, PADDED), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first_row, first_column = cuda.blockIdx.y * SIDE, cuda.blockIdx.x * SIDE
    row, column = first_row + ty, first_column + tx
    if row < rows and column < columns:
        tile[ty, tx] = x[row * columns + column]
    cuda.syncthreads()
    row, column = first_row + tx, first_column + ty
    if row < rows and column < columns:
        out[column * rows + row] = tile[tx, ty]
