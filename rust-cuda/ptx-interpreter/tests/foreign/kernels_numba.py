"""Kernels in Numba. tests/foreign/python.rs has the reference of each."""

from numba import cuda, float32, int32, void


def saxpy(a, x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


def sum_of_blocks(x, sums, n):
    partial = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    total = int32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total += x[i]
    partial[t] = total
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = partial[0]


def largest(x, maximum, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.max(maximum, 0, x[i])


def matrix_product(a, b, c, n):
    row, column = cuda.grid(2)
    if row < n and column < n:
        total = float32(0)
        for k in range(n):
            total += a[row * n + k] * b[k * n + column]
        c[row * n + column] = total


def collatz(steps, n):
    i = cuda.grid(1)
    if i < n:
        value = i + 1
        count = 0
        while value != 1:
            if value % 2 == 0:
                value //= 2
            else:
                value = 3 * value + 1
            count += 1
        steps[i] = count


def sort_of_each(x, y, n):
    i = cuda.grid(1)
    if i < n:
        own = cuda.local.array(8, int32)
        for k in range(8):
            own[k] = x[i * 8 + k]
        for k in range(1, 8):
            value = own[k]
            place = k
            while place > 0 and own[place - 1] > value:
                own[place] = own[place - 1]
                place -= 1
            own[place] = value
        for k in range(8):
            y[i * 8 + k] = own[k]


# There is no barrier between the writes and the reads.
def missing_barrier(x, y, n):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    y[t] = tile[63 - t]  # BUG missing_barrier


def past_the_end(x, y, n):
    i = cuda.grid(1)
    if i <= n:
        y[i] = x[i]  # BUG past_the_end


FLOATS, INTS = float32[::1], int32[::1]
SIGNATURES = {
    saxpy: void(float32, FLOATS, FLOATS, int32),
    sum_of_blocks: void(INTS, INTS, int32),
    largest: void(INTS, INTS, int32),
    matrix_product: void(FLOATS, FLOATS, FLOATS, int32),
    collatz: void(INTS, int32),
    sort_of_each: void(INTS, INTS, int32),
    missing_barrier: void(INTS, INTS, int32),
    past_the_end: void(INTS, INTS, int32),
}


def compile(architecture, optimisation):
    """The PTX of all kernels, one module after the other."""
    modules = []
    for kernel, signature in SIGNATURES.items():
        options = {"cc": (architecture // 10, architecture % 10)}
        if optimisation == "0":
            options |= {"debug": True, "opt": False}
        else:
            options |= {"lineinfo": True}
        ptx, _ = cuda.compile_ptx(kernel, signature, **options)
        modules.append(ptx)
    return "\n//#####\n".join(modules)
