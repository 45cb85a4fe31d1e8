"""Part 3 of the course: a matrix times another, by tiles in shared memory; and what else kernels of a homework use."""

import math

import numpy as np
from numba import cuda, float32, int32

TILE = 16


@cuda.jit(lineinfo=True)
def tiled_product(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        tile_a[row, column] = a[y, start + column] if y < a.shape[0] and start + column < a.shape[1] else 0
        tile_b[row, column] = b[start + row, x] if start + row < b.shape[0] and x < b.shape[1] else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[row, k] * tile_b[k, column]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


@cuda.jit
def histogram(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit
def sum_of_block(values, sums):
    dynamic = cuda.shared.array(0, float32)
    i = cuda.threadIdx.x
    dynamic[i] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if i < step:
            dynamic[i] += dynamic[i + step]
        cuda.syncthreads()
        step //= 2
    if i == 0:
        sums[cuda.blockIdx.x] = dynamic[0]


@cuda.jit
def activation(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 1 / (1 + math.exp(-x[i]))


@cuda.jit
def scaled(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


@cuda.jit
def lanes(out):
    i = cuda.threadIdx.x
    out[i] = cuda.shfl_down_sync(0xFFFFFFFF, int32(i), 1)


generator = np.random.default_rng(1)
m, k, n = 37, 50, 29
a, b = generator.random((m, k), np.float32), generator.random((k, n), np.float32)
device_c = cuda.device_array((m, n), np.float32)
blocks = (-(-n // TILE), -(-m // TILE))
stream = cuda.stream()
device_a, device_b = cuda.to_device(a, stream), cuda.to_device(b, stream)
tiled_product[blocks, (TILE, TILE), stream](device_a, device_b, device_c)
stream.synchronize()
np.testing.assert_allclose(device_c.copy_to_host(), a @ b, rtol=1e-5)

values = generator.integers(0, 10, 1000)
bins = np.zeros(10, np.int64)
# Arrays of the host are copied to the device and back.
histogram[8, 128](values, bins)
np.testing.assert_array_equal(bins, np.bincount(values, minlength=10))

numbers = generator.random(512, np.float32)
sums = cuda.device_array(4, np.float32)
sum_of_block[4, 128, 0, 128 * 4](cuda.to_device(numbers), sums)
np.testing.assert_allclose(sums.copy_to_host(), numbers.reshape(4, 128).sum(1), rtol=1e-5)

x = generator.normal(size=100)
y = cuda.device_array_like(x)
activation[1, 128](cuda.to_device(x), y)
np.testing.assert_allclose(y.copy_to_host(), 1 / (1 + np.exp(-x)), rtol=1e-12)

pinned = cuda.pinned_array(100, np.float32)
pinned[:] = np.arange(100)
on_device = cuda.to_device(pinned)
scaled[1, 128](on_device, np.float32(2))
on_device.copy_to_host(pinned)
np.testing.assert_array_equal(pinned, 2 * np.arange(100, dtype=np.float32))

managed = cuda.managed_array(100, np.float32)
managed[:] = np.arange(100)
scaled[1, 128](managed, np.float32(3))
cuda.synchronize()
np.testing.assert_array_equal(managed, 3 * np.arange(100, dtype=np.float32))

mapped = cuda.mapped_array(100, np.float32)
mapped[:] = np.arange(100)
scaled[1, 128](mapped, np.float32(4))
cuda.synchronize()
np.testing.assert_array_equal(mapped, 4 * np.arange(100, dtype=np.float32))

out = cuda.device_array(32, np.int32)
lanes[1, 32](out)
np.testing.assert_array_equal(out.copy_to_host(), [*range(1, 32), 31])
print("all results are right")
