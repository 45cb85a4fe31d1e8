// One bug in each kernel, on the line that says BUG and the kernel's name. tests/foreign/bugs.rs has the expected faults.
#include "device.h"

#define KERNEL extern "C" __global__ void

__device__ inline int thread_in_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }

KERNEL missing_barrier(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[63 - threadIdx.x]; // BUG missing_barrier
}

KERNEL missing_second_barrier(const int *x, int *y) {
    __shared__ int tile[64];
    int sum = 0;
    for (int round = 0; round < 3; round++) {
        tile[threadIdx.x] = x[round * 64 + threadIdx.x];
        __syncthreads();
        sum += tile[63 - threadIdx.x]; // BUG missing_second_barrier
    }
    y[threadIdx.x] = sum;
}

KERNEL missing_barrier_of_a_warp(const int *x, int *y) {
    __shared__ int tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[31 - threadIdx.x]; // BUG missing_barrier_of_a_warp
}

KERNEL reduction_without_barriers(const int *x, int *y) {
    __shared__ int partial[64];
    partial[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half]; // BUG reduction_without_barriers
    }
    if (threadIdx.x == 0) *y = partial[0];
}

KERNEL off_by_one(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i <= n) y[i] = x[i]; // BUG off_by_one
}

KERNEL one_before_the_start(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i < n) y[i] = x[i] - x[i - 1]; // BUG one_before_the_start
}

KERNEL shared_array_too_small(const int *x, int *y) {
    __shared__ int tile[63];
    tile[threadIdx.x] = x[threadIdx.x]; // BUG shared_array_too_small
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

KERNEL dynamic_shared_too_small(const int *x, int *y) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = x[threadIdx.x]; // BUG dynamic_shared_too_small
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

KERNEL race_of_blocks(const int *x, int *sum) {
    if (threadIdx.x == 0) *sum += x[blockIdx.x]; // BUG race_of_blocks
}

KERNEL race_of_threads(const int *x, int *counts, int n) {
    int i = thread_in_grid();
    if (i < n) counts[x[i] & 15] += 1; // BUG race_of_threads
}

KERNEL blocks_read_each_other(int *x, int n) {
    int i = thread_in_grid();
    if (i + 1 < n) x[i] = x[i + 1]; // BUG blocks_read_each_other
}

KERNEL uninitialised_shared(const int *x, int *y) {
    __shared__ int bins[16];
    if (threadIdx.x < 15) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[x[threadIdx.x] & 15], 1); // BUG uninitialised_shared
    __syncthreads();
    if (threadIdx.x < 16) y[threadIdx.x] = bins[threadIdx.x];
}

KERNEL uninitialised_global(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i < n) y[i] += x[i]; // BUG uninitialised_global
}

KERNEL uninitialised_local(const int *x, int *y, int n) {
    int own[8];
    for (int k = 1; k < 8; k++) own[k] = x[k];
    int sum = 0;
    for (int k = 0; k < 8; k++) sum += own[(k + n) % 8]; // BUG uninitialised_local
    y[threadIdx.x] = sum;
}

KERNEL divergent_barrier(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 40) {
        __syncthreads(); // BUG divergent_barrier
        y[threadIdx.x] = tile[threadIdx.x + 1];
    }
}

KERNEL barrier_after_return(const int *x, int *y, int n) {
    if (thread_in_grid() >= n) return;
    __shared__ int tile[64];
    tile[threadIdx.x] = x[thread_in_grid()];
    __syncthreads(); // BUG barrier_after_return
    y[thread_in_grid()] = tile[threadIdx.x ^ 1];
}

KERNEL barrier_in_a_loop(const int *x, int *y) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int i = 0; i < x[threadIdx.x / 32]; i++) {
        if (threadIdx.x == 0) sum += i;
        __syncthreads(); // BUG barrier_in_a_loop
    }
    y[threadIdx.x] = sum;
}

KERNEL shuffle_of_half_a_warp(const int *x, int *y) {
    int value = x[threadIdx.x];
    if (threadIdx.x < 16) value += __shfl_xor_sync(~0u, value, 16); // BUG shuffle_of_half_a_warp
    y[threadIdx.x] = value;
}

KERNEL misaligned_vector(const int *x, float *y) {
    const float4 *vectors = (const float4 *)(x + 1);
    float4 vector = vectors[threadIdx.x]; // BUG misaligned_vector
    y[threadIdx.x] = vector.x + vector.y + vector.z + vector.w;
}

KERNEL missing_fence(const int *x, int *partial, unsigned *arrived, int *sum) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = x[blockIdx.x];
    if (atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1) {
        int all = 0;
        for (int block = 0; block < gridDim.x; block++) all += partial[block]; // BUG missing_fence
        *sum = all;
    }
}

KERNEL endless(int *flag) {
    while (*(volatile int *)flag == 0) {} // BUG endless
}

KERNEL null_pointer(const int *x, int *y) {
    y[threadIdx.x] = x[threadIdx.x]; // BUG null_pointer
}

KERNEL transposed_without_padding(const float *x, float *y, int rows, int columns) {
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < rows && column < columns) y[column * columns + row] = x[row * columns + column]; // BUG transposed_without_padding
}

KERNEL flag_without_order(int *data, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *data = 42;
        *(volatile int *)flag = 1;
    } else {
        while (*(volatile int *)flag == 0) {}
        *y = *data; // BUG flag_without_order
    }
}

// Bugs that memory and barrier checks cannot detect: only the results are wrong.

KERNEL wrong_bound(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i < n - 1) y[i] = x[i] * 2; // BUG wrong_bound
}

KERNEL lost_remainder(const int *x, int *sum, int n) {
    int own = 0;
    for (int i = threadIdx.x; i < n / 32 * 32; i += 32) own += x[i]; // BUG lost_remainder
    for (int lane = 16; lane > 0; lane /= 2) own += __shfl_xor_sync(~0u, own, lane);
    if (threadIdx.x == 0) *sum = own;
}

KERNEL barrier_that_one_warp_skips_by_luck(const int *x, int *y, int n) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (n > 64) __syncthreads(); // BUG barrier_that_one_warp_skips_by_luck
    y[threadIdx.x] = tile[threadIdx.x];
}

KERNEL index_within_another_row(const int *x, int *y) {
    __shared__ int rows[4][8];
    rows[threadIdx.x / 8][threadIdx.x % 8] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = rows[threadIdx.x / 8 % 3][threadIdx.x % 8 + 1]; // BUG index_within_another_row
}
