"""What CUDA C++ builds on mbarriers, copies in flight, clusters and tensor cores: libcu++, cooperative groups and wmma."""

import sys
from pathlib import Path

import numpy as np
import nvidia
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

HEADERS = [str(folder) for root in nvidia.__path__ for folder in Path(root).glob("cuda_*/include")]

device = Device()
device.set_current()
stream = device.create_stream()


def check(result):
    error, *values = result
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values


def run(source, grid, block, *arguments):
    """Launches `kernel` on copies of the arrays, and copies them back."""
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}", lineinfo=True, include_path=HEADERS)
    code = Program(source, code_type="c++", options=options).compile("ptx")
    buffers = []
    for array in arguments:
        if isinstance(array, np.ndarray):
            buffers.append(device.allocate(array.nbytes, stream=stream))
            check(driver.cuMemcpyHtoDAsync(int(buffers[-1].handle), array.ctypes.data, array.nbytes, stream.handle))
        else:
            buffers.append(array)
    launch(stream, LaunchConfig(grid=grid, block=block), code.get_kernel("kernel"), *buffers)
    stream.sync()
    for array, buffer in zip(arguments, buffers):
        if isinstance(array, np.ndarray):
            check(driver.cuMemcpyDtoH(array.ctypes.data, int(buffer.handle), array.nbytes))


# Blocks of 128 threads reverse their part of x: each thread copies an element, and waits for all copies by a barrier of libcu++.
BARRIER = r"""
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void kernel(const int* x, int* out) {
    __shared__ barrier all;
    __shared__ alignas(16) int values[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    if (threadIdx.x == 0) init(&all, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(values + threadIdx.x, x + i, sizeof(int), all);
    WAIT
    int mine = values[127 - threadIdx.x];
    barrier::arrival_token token = all.arrive();
    out[i] = mine;
    all.wait(cuda::std::move(token));
    values[threadIdx.x] = 0;
}
"""
# The same in rounds by two stages of a pipeline.
PIPELINE = r"""
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void kernel(const int* x, int* out, int rounds) {
    auto block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int stages[2][128];
    auto pipeline = cuda::make_pipeline(block, &state);
    for (int round = 0, fetched = 0; round < rounds; round++) {
        for (; fetched < rounds && fetched < round + 2; fetched++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, stages[fetched % 2], x + fetched * 128, sizeof(int) * 128, pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        out[round * 128 + threadIdx.x] = stages[round % 2][127 - threadIdx.x];
        pipeline.consumer_release();
    }
}
"""
# One thread copies the block's part by a bulk copy, and back.
BULK = r"""
#include <cuda/barrier>
#include <cuda/ptx>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void kernel(const int* x, int* out) {
    __shared__ barrier all;
    __shared__ alignas(16) int values[128];
    const int* from = x + blockIdx.x * 128;
    if (threadIdx.x == 0) {
        init(&all, blockDim.x);
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(values, from, cuda::aligned_size_t<16>(sizeof(values)), all);
        token = cuda::device::barrier_arrive_tx(all, 1, sizeof(values));
    } else {
        token = all.arrive();
    }
    all.wait(cuda::std::move(token));
    int mine = values[127 - threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = mine;
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out + blockIdx.x * 128, values, sizeof(values));
        cuda::ptx::cp_async_bulk_commit_group();
        cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
    }
}
"""
# Each block of a cluster reads the other's shared memory.
CLUSTER = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const int* x, int* out) {
    __shared__ int values[128];
    auto cluster = cg::this_cluster();
    int i = blockIdx.x * 128 + threadIdx.x;
    values[threadIdx.x] = x[i];
    cluster.sync();
    out[i] = cluster.map_shared_rank(values, 1 - cluster.block_rank())[threadIdx.x];
    cluster.sync();
}
"""
# C = alpha·A·Bᵀ + beta·C by tiles of 16 × 16, through shared memory.
WMMA = r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void kernel(const half* a, const half* b, float* c, int n, int k, float alpha, float beta) {
    __shared__ alignas(32) half a_tile[16 * 24];
    __shared__ alignas(32) half b_tile[16 * 24];
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_part;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b_part;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums, before;
    wmma::fill_fragment(sums, 0.0f);
    for (int depth = 0; depth < k; depth += 16) {
        for (int i = threadIdx.x; i < 256; i += 32) {
            a_tile[i / 16 * 24 + i % 16] = a[(row + i / 16) * k + depth + i % 16];
            b_tile[i / 16 * 24 + i % 16] = b[(column + i / 16) * k + depth + i % 16];
        }
        __syncthreads();
        wmma::load_matrix_sync(a_part, a_tile, 24);
        wmma::load_matrix_sync(b_part, b_tile, 24);
        wmma::mma_sync(sums, a_part, b_part, sums);
        __syncthreads();
    }
    wmma::load_matrix_sync(before, c + row * n + column, n, wmma::mem_row_major);
    for (int i = 0; i < before.num_elements; i++) before.x[i] = alpha * sums.x[i] + beta * before.x[i];
    wmma::store_matrix_sync(c + row * n + column, before, n, wmma::mem_row_major);
}
"""

x = np.arange(1024, dtype=np.int32)
reversed_parts = x.reshape(8, 128)[:, ::-1].ravel()

if "race" in sys.argv:
    # A barrier of the block does not wait for copies.
    run(BARRIER.replace("WAIT", "__syncthreads();"), 8, 128, x, np.zeros_like(x))
    sys.exit("the race was not found")

if device.arch >= "80":
    for source, grid, arguments in [
        (BARRIER.replace("WAIT", "all.arrive_and_wait();"), 8, ()),
        (PIPELINE, 1, (np.int32(8),)),
        *([(BULK, 8, ())] if device.arch >= "90" else []),
    ]:
        out = np.zeros_like(x)
        run(source, grid, 128, x, out, *arguments)
        np.testing.assert_array_equal(out, reversed_parts)

if device.arch >= "90":
    out = np.zeros_like(x)
    run(CLUSTER, 8, 128, x, out)
    np.testing.assert_array_equal(out, x.reshape(4, 2, 128)[:, ::-1].ravel())

m, n, k = 32, 48, 64
random = np.random.default_rng(0)
a, b = (random.integers(-8, 8, (rows, k)).astype(np.float16) for rows in (m, n))
c = random.integers(-8, 8, (m, n)).astype(np.float32)
expected = 2 * (a.astype(np.float32) @ b.astype(np.float32).T) - c / 2
run(WMMA, (n // 16, m // 16), 32, a, b, c, np.int32(n), np.int32(k), np.float32(2), np.float32(-0.5))
np.testing.assert_array_equal(c, expected)
print("all results are right")
