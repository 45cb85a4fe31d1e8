"""CUDA C with textures and surfaces, compiled at run time, with the objects made by cuda-python's bindings."""

import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
typedef unsigned long long Object;

extern "C" __global__ void rotate(Object image, float *out, int width, int height, float angle) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = x + 0.5f - width / 2.f, v = y + 0.5f - height / 2.f;
    float s = u * cosf(angle) - v * sinf(angle) + width / 2.f, t = u * sinf(angle) + v * cosf(angle) + height / 2.f;
    out[y * width + x] = tex2D<float>(image, s, t);
}

extern "C" __global__ void brighter(Object image, Object result, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uchar4 color = tex2D<uchar4>(image, x + 0.5f, y + 0.5f);
    color.x = min(color.x + 10, 255);
    surf2Dwrite(color, result, x * (int)sizeof color, y);
}

extern "C" __global__ void table(Object values, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex1Dfetch<float>(values, i) + tex1Dfetch<float>(values, count - 1 - i);
}

extern "C" __global__ void slices(Object volume, Object layers, float *out) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    float of_volume = tex3D<float>(volume, (x + 0.5f) / blockDim.x, (y + 0.5f) / blockDim.y, (z + 0.5f) / blockDim.z);
    float of_layer = tex2DLayered<float>(layers, x + 0.5f, y + 0.5f, z);
    out[(z * blockDim.y + y) * blockDim.x + x] = of_volume - of_layer;
}
"""


def check(result):
    error, *values = result
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values


device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}", lineinfo=True)
code = Program(SOURCE, code_type="c++", options=options).compile("ptx")

FORMATS = {np.dtype(np.float32): driver.CUarray_format.CU_AD_FORMAT_FLOAT, np.dtype(np.uint8): driver.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT8}
Mode, Filter = driver.CUaddress_mode, driver.CUfilter_mode


def copy(source, destination, row, rows, planes):
    """Copies planes of rows of bytes between an array and host memory. Each is a pair: whether it is an array, and itself."""
    parameters = driver.CUDA_MEMCPY3D()
    for side, (is_array, memory) in (("src", source), ("dst", destination)):
        kind = driver.CUmemorytype.CU_MEMORYTYPE_ARRAY if is_array else driver.CUmemorytype.CU_MEMORYTYPE_HOST
        setattr(parameters, f"{side}MemoryType", kind)
        setattr(parameters, f"{side}{'Array' if is_array else 'Host'}", memory if is_array else memory.ctypes.data)
        setattr(parameters, f"{side}Pitch", row)
        setattr(parameters, f"{side}Height", rows)
    parameters.WidthInBytes, parameters.Height, parameters.Depth = row, rows, planes
    check(driver.cuMemcpy3D(parameters))


def array_of(values, channels=1, flags=0):
    """An array with values: by planes, by rows, by columns."""
    values = np.ascontiguousarray(values)
    shape = values.shape if channels == 1 else values.shape[:-1]
    depth, height, width = (0,) * (3 - len(shape)) + shape
    descriptor = driver.CUDA_ARRAY3D_DESCRIPTOR()
    descriptor.Width, descriptor.Height, descriptor.Depth = width, height, depth
    descriptor.Format, descriptor.NumChannels, descriptor.Flags = FORMATS[values.dtype], channels, flags
    array = check(driver.cuArray3DCreate(descriptor))
    copy((False, values), (True, array), width * channels * values.itemsize, max(height, 1), max(depth, 1))
    return array


def texture_of(resource, filter=Filter.CU_TR_FILTER_MODE_POINT, mode=Mode.CU_TR_ADDRESS_MODE_BORDER, flags=0):
    sampler = driver.CUDA_TEXTURE_DESC()
    sampler.addressMode = [mode] * 3
    sampler.filterMode, sampler.flags = filter, flags
    return check(driver.cuTexObjectCreate(resource, sampler, None))


def of_array(array):
    resource = driver.CUDA_RESOURCE_DESC()
    resource.resType = driver.CUresourcetype.CU_RESOURCE_TYPE_ARRAY
    resource.res.array.hArray = array
    return resource


def run(name, grid, block, *arguments):
    # Copies in the default stream are not in order with a stream that does not block.
    check(driver.cuCtxSynchronize())
    launch(stream, LaunchConfig(grid=grid, block=block), code.get_kernel(name), *arguments)
    stream.sync()


def read(buffer, count):
    values = np.empty(count, np.float32)
    check(driver.cuMemcpyDtoH(values.ctypes.data, int(buffer.handle), values.nbytes))
    return values


handle = lambda texture: np.uint64(int(texture))

# A quarter turn is exact; of an eighth, corners are the border.
width, height = 24, 24
image = np.arange(width * height, dtype=np.float32).reshape(height, width)
picture = array_of(image)
linear = texture_of(of_array(picture), filter=Filter.CU_TR_FILTER_MODE_LINEAR)
out = device.allocate(image.nbytes, stream=stream)
run("rotate", (2, 2), (16, 16), handle(linear), out, np.int32(width), np.int32(height), np.float32(np.pi / 2))
assert np.abs(read(out, width * height).reshape(height, width) - np.rot90(image)).max() < 0.5, "a quarter turn"
run("rotate", (2, 2), (16, 16), handle(linear), out, np.int32(width), np.int32(height), np.float32(np.pi / 4))
turned = read(out, width * height).reshape(height, width)
assert turned[0, 0] == 0 and turned[-1, -1] == 0 and abs(turned[11:13, 11:13].mean() - image.mean()) < 1, "an eighth"

# Four channels of bytes, read as integers, and written through a surface.
colors = np.random.default_rng(1).integers(0, 256, (5, 7, 4), dtype=np.uint8)
source = array_of(colors, channels=4)
target = array_of(np.zeros_like(colors), channels=4, flags=driver.CUDA_ARRAY3D_SURFACE_LDST)
texture = texture_of(of_array(source), flags=driver.CU_TRSF_READ_AS_INTEGER)
surface = check(driver.cuSurfObjectCreate(of_array(target)))
run("brighter", (1, 1), (8, 8), handle(texture), handle(surface), np.int32(7), np.int32(5))
result = np.empty_like(colors)
copy((True, target), (False, result), 28, 5, 1)
expected = colors.copy()
expected[..., 0] = np.minimum(colors[..., 0].astype(int) + 10, 255)
assert (result == expected).all(), "a surface"

# Linear memory.
values = np.arange(100, dtype=np.float32) ** 2
memory = device.allocate(values.nbytes, stream=stream)
check(driver.cuMemcpyHtoD(int(memory.handle), values.ctypes.data, values.nbytes))
resource = driver.CUDA_RESOURCE_DESC()
resource.resType = driver.CUresourcetype.CU_RESOURCE_TYPE_LINEAR
resource.res.linear.devPtr, resource.res.linear.sizeInBytes = int(memory.handle), values.nbytes
resource.res.linear.format, resource.res.linear.numChannels = FORMATS[values.dtype], 1
values_texture = texture_of(resource)
out = device.allocate(values.nbytes, stream=stream)
run("table", 1, 128, handle(values_texture), out, np.int32(100))
assert (read(out, 100) == values + values[::-1]).all(), "linear memory"

# The same values as a volume with normalized coordinates, and as layers.
solid = np.random.default_rng(2).random((3, 4, 5), dtype=np.float32)
volume = texture_of(of_array(array_of(solid)), flags=driver.CU_TRSF_NORMALIZED_COORDINATES, mode=Mode.CU_TR_ADDRESS_MODE_WRAP)
layers = texture_of(of_array(array_of(solid, flags=driver.CUDA_ARRAY3D_LAYERED)))
out = device.allocate(solid.nbytes, stream=stream)
run("slices", 1, (5, 4, 3), handle(volume), handle(layers), out)
assert (read(out, 60) == 0).all(), "volume and layers"

for object in (linear, texture, values_texture, volume, layers):
    check(driver.cuTexObjectDestroy(object))
check(driver.cuSurfObjectDestroy(surface))
print("all results are right")
