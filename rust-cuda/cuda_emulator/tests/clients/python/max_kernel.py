"""Part 2 of the course: the larger of two vectors' elements, in 1000 blocks of 1000 threads."""

import time

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def max_kernel(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] if a[i] > b[i] else b[i]


n = 1_000_000
generator = np.random.default_rng(1)
a = generator.integers(0, 1000, n, dtype=np.int32)
b = generator.integers(0, 1000, n, dtype=np.int32)
device_a, device_b = cuda.to_device(a), cuda.to_device(b)
device_c = cuda.device_array_like(a)
max_kernel[1000, 1000](device_a, device_b, device_c)
start, end = cuda.event(), cuda.event()
begun = time.perf_counter()
start.record()
max_kernel[1000, 1000](device_a, device_b, device_c)
end.record()
end.synchronize()
seconds = time.perf_counter() - begun
assert 0 < cuda.event_elapsed_time(start, end) <= seconds * 1e3
np.testing.assert_array_equal(device_c.copy_to_host(), np.maximum(a, b))
name = cuda.get_current_device().name
print(f"{name if isinstance(name, str) else name.decode()}: {seconds:.3f} s")
