"""A read beyond the end, as a missing guard makes it."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def shifted(values, out):
    i = cuda.grid(1)
    out[i] = values[i + 1]


values = cuda.to_device(np.arange(64, dtype=np.int32))
out = cuda.device_array(64, np.int32)
try:
    shifted[1, 64](values, out)
    out.copy_to_host()
except Exception as error:
    print("raised", str(error).split(":")[0])
