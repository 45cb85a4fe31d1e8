"""A sum in shared memory that lacks a barrier."""

import numpy as np
from numba import cuda, float32


@cuda.jit(lineinfo=True)
def racing_sum(values, out):
    partial = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    partial[i] = values[i]
    cuda.syncthreads()
    if i < 32:
        partial[i] += partial[i + 32]
    out[i] = partial[63 - i]


values = cuda.to_device(np.ones(64, np.float32))
out = cuda.device_array(64, np.float32)
try:
    racing_sum[1, 64](values, out)
    cuda.synchronize()
except Exception as error:
    print("raised", str(error).split(":")[0])
