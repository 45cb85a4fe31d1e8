"""A program on cuda-core: CUDA C compiled at run time, a launch, an event, a graph, and a launch by cuda-python's bindings."""

import numpy as np
from cuda.bindings import driver
from cuda.core import Device, GraphMemoryResource, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float *x, float *y, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""

# As NVIDIA's examples do, it asks for a binary; the emulator gives PTX. No function of the driver has been called yet.
options = ProgramOptions(std="c++17", arch="sm_90", lineinfo=True)
code = Program(SOURCE, code_type="c++", options=options).compile("cubin")

device = Device()
device.set_current()
stream = device.create_stream()
kernel = code.get_kernel("saxpy")

n = 1000
x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)


def check(result):
    error, *values = result
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values


buffers = [device.allocate(x.nbytes, stream=stream) for _ in range(2)]
for buffer, values in zip(buffers, (x, y)):
    check(driver.cuMemcpyHtoDAsync(int(buffer.handle), values.ctypes.data, values.nbytes, stream.handle))
config = LaunchConfig(grid=(n + 255) // 256, block=256)
start, end = [device.create_event() for _ in range(2)]
stream.record(start)
launch(stream, config, kernel, np.float32(2), buffers[0], buffers[1], np.uint64(n))
stream.record(end)
stream.sync()
result = np.empty(n, np.float32)
check(driver.cuMemcpyDtoH(result.ctypes.data, int(buffers[1].handle), result.nbytes))
np.testing.assert_array_equal(result, 2 * x + 1)

builder = device.create_graph_builder().begin_building()
launch(builder, config, kernel, np.float32(1), buffers[0], buffers[1], np.uint64(n))
graph = builder.end_building().complete()
for _ in range(3):
    graph.launch(stream)
stream.sync()
check(driver.cuMemcpyDtoH(result.ctypes.data, int(buffers[1].handle), result.nbytes))
np.testing.assert_array_equal(result, 5 * x + 1)

# The graph of a second capture gives the first its parameters.
builder = device.create_graph_builder().begin_building()
launch(builder, config, kernel, np.float32(-2), buffers[0], buffers[1], np.uint64(n))
graph.update(builder.end_building())
graph.launch(stream)
stream.sync()
check(driver.cuMemcpyDtoH(result.ctypes.data, int(buffers[1].handle), result.nbytes))
np.testing.assert_array_equal(result, 3 * x + 1)

# Memory that a graph allocates and frees in each launch.
memory = GraphMemoryResource(device)
builder = device.create_graph_builder().begin_building()
own = memory.allocate(y.nbytes, stream=builder)
own.copy_from(buffers[1], stream=builder)
launch(builder, config, kernel, np.float32(1), buffers[0], own, np.uint64(n))
buffers[1].copy_from(own, stream=builder)
own.close()
graph = builder.end_building().complete()
for _ in range(2):
    graph.launch(stream)
stream.sync()
check(driver.cuMemcpyDtoH(result.ctypes.data, int(buffers[1].handle), result.nbytes))
np.testing.assert_array_equal(result, 5 * x + 1)
assert memory.attributes.used_mem_high == y.nbytes

# Each property has a value, and no size is 0 but those of what is not supported.
properties = {name: getattr(device.properties, name) for name in dir(device.properties) if not name.startswith("_")}
absent = ("max_persisting_l2_cache_size", "max_access_policy_window_size")
zeros = [name for name, value in properties.items() if name.startswith("max") and not value and name not in absent]
assert len(properties) > 100 and not zeros, zeros
assert properties["maximum_texture2d_width"] == 131072 and properties["l2_cache_size"] == 50 << 20

error, _ = driver.cuMemAlloc(1 << 50)
assert error == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY, error
print(device.name, "all results are right")
