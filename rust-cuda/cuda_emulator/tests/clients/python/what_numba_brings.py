"""What Numba brings beside kernels: reductions, ufuncs, random numbers, the barrier of a grid, records, printing."""

import math

import numpy as np
from numba import cuda, float32, guvectorize, int32, vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

generator = np.random.default_rng(1)


@cuda.reduce
def total(a, b):
    return a + b


@cuda.reduce
def largest(a, b):
    return max(a, b)


for length in 1, 31, 128, 12345:
    values = generator.random(length)
    np.testing.assert_allclose(total(values), values.sum())
    assert largest(values, init=0.0) == values.max()


@vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def hypotenuse(a, b):
    return math.sqrt(a * a + b * b)


a, b = generator.random(5000), generator.random(5000)
np.testing.assert_allclose(hypotenuse(a, b), np.hypot(a, b), rtol=1e-12)


@guvectorize(["void(float64[:,:], float64[:,:], float64[:,:])"], "(m,l),(l,n)->(m,n)", target="cuda")
def products(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


a, b = generator.random((7, 4, 5)), generator.random((7, 5, 3))
np.testing.assert_allclose(products(a, b), a @ b)


@cuda.jit
def row_by_row(m):
    """Each row is made from the one before, by other blocks."""
    grid = cuda.cg.this_grid()
    column = cuda.grid(1)
    for row in range(1, m.shape[0]):
        m[row, column] = m[row - 1, m.shape[1] - column - 1] + 1
        grid.sync()


m = np.zeros((16, 256), np.int32)
row_by_row[8, 32](m)
np.testing.assert_array_equal(m, np.arange(16)[:, None] + np.zeros(256, np.int32))


@cuda.jit
def inside_circle(states, count, out):
    i = cuda.grid(1)
    inside = 0
    for _ in range(count):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x * x + y * y <= 1:
            inside += 1
    out[i] = 4.0 * inside / count


out = np.zeros(256, np.float32)
inside_circle[4, 64](create_xoroshiro128p_states(256, seed=1), 200, out)
assert abs(out.mean() - math.pi) < 0.05

body = np.dtype([("x", np.float32), ("n", np.int64), ("v", np.float32, (3,))], align=True)
table = np.arange(16, dtype=np.float32)


@cuda.jit
def moved(bodies):
    constants = cuda.const.array_like(table)
    private = cuda.local.array(4, float32)
    i = cuda.grid(1)
    if i < bodies.size:
        for j in range(4):
            private[j] = constants[(i + j) % 16]
        bodies[i].x = bodies[i].n * 0.5
        bodies[i].v[1] = bodies[i].x + private[3 - i % 4]


bodies = np.zeros(40, body)
bodies["n"] = np.arange(40)
moved[2, 32](bodies)
expected = [n * 0.5 + table[(n + 3 - n % 4) % 16] for n in range(40)]
np.testing.assert_array_equal(bodies["v"][:, 1], np.float32(expected))


@cuda.jit
def counted(out):
    i = cuda.threadIdx.x
    out[0, i] = cuda.syncthreads_count(int32(i % 3 == 0))
    out[1, i] = cuda.ballot_sync(0xFFFFFFFF, i % 3 == 0)
    # The two halves of a warp meet at barriers of different lines.
    if i % 32 < 16:
        cuda.syncwarp()
        out[2, i] = 1
    else:
        out[2, i] = 2
        cuda.syncwarp()
    if i < 2:
        print("thread", i)


out = np.zeros((3, 64), np.int64)
counted[1, 64](out)
np.testing.assert_array_equal(out[0], 22)
assert all(bin(votes & 0xFFFFFFFF).count("1") == 11 for votes in out[1].tolist())
cuda.synchronize()
print("all results are right")
