"""A matrix product as programs for Hopper write it: a warp copies tiles by tensor maps, a warpgroup multiplies them by `wgmma`, and the result
is stored by a tensor map. With an argument, a wait is missing."""

import ctypes
import sys

import numpy as np
from cuda.bindings import driver
from cuda.core import Device, Program, ProgramOptions

SOURCE = r"""

typedef unsigned short half;
typedef unsigned long long u64;
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

constexpr int ROWS = 64, COLUMNS = 40, DEPTH = 64, STAGES = 3;
constexpr int BYTES = (ROWS + COLUMNS) * DEPTH * sizeof(half);

__device__ unsigned address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

__device__ void wait(u64 *barrier, unsigned parity) {
    asm volatile("{\n.reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra D;\nbra W;\nD:\n}"
                 :: "r"(address(barrier)), "r"(parity) : "memory");
}

__device__ void load(void *to, const TensorMap *map, int x, int y, u64 *barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 :: "r"(address(to)), "l"(map), "r"(address(barrier)), "r"(x), "r"(y) : "memory");
}

// Rows of 128 bytes, with a swizzle of as many; eight rows are 1024 bytes.
__device__ u64 descriptor(const void *tile) {
    return (u64)((address(tile) & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// C = A·Bᵀ, with A of rows × depth and B of columns × depth.
extern "C" __global__ void __launch_bounds__(160) product(
    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, const __grid_constant__ TensorMap c, int depth) {
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ __align__(128) float result[ROWS][COLUMNS];
    __shared__ u64 full[STAGES], empty[STAGES];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, steps = (depth + DEPTH - 1) / DEPTH;
    auto tile = [&](int stage) { return (half *)(tiles + stage * BYTES); };
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address(&full[stage])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(address(&empty[stage])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;\nprefetch.tensormap [%0];" :: "l"(&a) : "memory");
    }
    __syncthreads();
    if (warp == 4) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        unsigned elected;
        asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
        for (int step = 0; elected && step < steps; ++step) {
            int stage = step % STAGES;
            if (step >= STAGES) wait(&empty[stage], (step / STAGES - 1) & 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         :: "r"(address(&full[stage])), "n"(BYTES) : "memory");
            load(tile(stage), &a, step * DEPTH, blockIdx.y * ROWS, &full[stage]);
            load(tile(stage) + ROWS * DEPTH, &b, step * DEPTH, blockIdx.x * COLUMNS, &full[stage]);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[20];
        for (int step = 0; step < steps; ++step) {
            int stage = step % STAGES;
            wait(&full[stage], step / STAGES & 1);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            for (int k = 0; k < DEPTH / 16; ++k)
                asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %22, 0;\n"
                    "wgmma.mma_async.sync.aligned.m64n40k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
                    "%14, %15, %16, %17, %18, %19}, %20, %21, p, 1, 1, 0, 0;\n}"
                    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
                      "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]),
                      "+f"(d[19])
                    : "l"(descriptor(tile(stage) + 16 * k)), "l"(descriptor(tile(stage) + ROWS * DEPTH + 16 * k)), "r"(step + k));
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            // The tile of the step before is free when its products have ended.
            asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(WAITS) : "memory");
            asm volatile("{\n.reg .b64 s;\nmbarrier.arrive.shared::cta.b64 s, [%0];\n}" :: "r"(address(&empty[stage])) : "memory");
        }
        for (int part = 0; part < 20; ++part)
            result[16 * warp + lane / 4 + part / 2 % 2 * 8][part / 4 * 8 + lane % 4 * 2 + part % 2] = d[part];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                     :: "l"(&c), "r"(address(result)), "r"(blockIdx.x * COLUMNS), "r"(blockIdx.y * ROWS) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
"""

waits = 1 if sys.argv[1:] == ["race"] else 0
options = ProgramOptions(std="c++17", arch="sm_90a", lineinfo=True, define_macro=[("WAITS", str(waits))])
code = Program(SOURCE, code_type="c++", options=options).compile("ptx")
device = Device()
device.set_current()


def check(result):
    error, *values = result
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values


library = ctypes.CDLL("libcuda.so.1")
HALF, SINGLE = 6, 7
SWIZZLE_NONE, SWIZZLE_128 = 0, 3


def tensor_map(kind, address, matrix, box, swizzle):
    """A `CUtensorMap`, which begins at a multiple of 64 bytes, as cuda-python's need not."""
    memory = np.zeros(192, np.uint8)
    encoded = memory[-memory.ctypes.data % 64:][:128]
    words = (ctypes.c_uint64 * 2)(matrix.shape[1], matrix.shape[0]), (ctypes.c_uint64 * 1)(matrix.strides[0])
    error = library.cuTensorMapEncodeTiled(
        ctypes.c_void_p(encoded.ctypes.data), kind, 2, ctypes.c_void_p(int(address)), *words, (ctypes.c_uint32 * 2)(*box),
        (ctypes.c_uint32 * 2)(1, 1), 0, swizzle, 2, 0)
    assert error == 0, error
    return encoded


rows, columns, depth = 100, 68, 328
random = np.random.default_rng(1)
a = random.integers(-4, 5, (rows, depth)).astype(np.float16)
b = random.integers(-4, 5, (columns, depth)).astype(np.float16)
c = np.full((rows, columns), np.nan, np.float32)
addresses = []
for matrix in (a, b, c):
    address = check(driver.cuMemAlloc(matrix.nbytes))
    check(driver.cuMemcpyHtoD(address, matrix.ctypes.data, matrix.nbytes))
    addresses.append(address)
maps = [
    tensor_map(HALF, addresses[0], a, [64, 64], SWIZZLE_128),
    tensor_map(HALF, addresses[1], b, [64, 40], SWIZZLE_128),
    tensor_map(SINGLE, addresses[2], c, [40, 64], SWIZZLE_NONE),
]
module = check(driver.cuModuleLoadData(bytes(code.code)))
function = check(driver.cuModuleGetFunction(module, b"product"))
shared = 3 * 13312
check(driver.cuFuncSetAttribute(
    function, driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared))
number = ctypes.c_int(depth)
parameters = (ctypes.c_void_p * 4)(*[tensor.ctypes.data for tensor in maps], ctypes.addressof(number))
check(driver.cuLaunchKernel(function, 2, 2, 1, 160, 1, 1, shared, 0, ctypes.addressof(parameters), 0))
check(driver.cuCtxSynchronize())
check(driver.cuMemcpyDtoH(c.ctypes.data, addresses[2], c.nbytes))
np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
print("all results are right")
