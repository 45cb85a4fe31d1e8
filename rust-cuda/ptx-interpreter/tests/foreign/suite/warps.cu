// Warp-level operations, asynchronous copies and clusters. tests/foreign/suite/warps.rs has the launches and the
// labels.
#include "suite.h"

// Lanes of a warp. Without a barrier of the warp they are not in step.

KERNEL sum_by_shuffles(const int *x, int *y) {
    int sum = x[threadIdx.x];
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
    if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = sum;
}

KERNEL sum_by_shuffles_of_one_cell(const int *x, int *y) {
    int sum = x[threadIdx.x];
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
    if (threadIdx.x % 32 == 0) *y = sum; // RACE sum_by_shuffles_of_one_cell
}

KERNEL shuffle_behind_a_guard(const int *x, int *y, int n) {
    if (threadIdx.x >= n) return;
    int sum = x[threadIdx.x];
    sum += __shfl_xor_sync(~0u, sum, 16); // LANES shuffle_behind_a_guard
    y[threadIdx.x] = sum;
}

KERNEL shuffle_of_the_lanes_with_a_value(const int *x, int *y, int n) {
    unsigned members = __ballot_sync(~0u, threadIdx.x < n);
    if (threadIdx.x >= n) return;
    y[threadIdx.x] = __shfl_sync(members, x[threadIdx.x], 0);
}

KERNEL reversal_in_a_warp(const int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncwarp();
    y[t] = tile[t ^ 31];
}

KERNEL reversal_in_step(const int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    y[t] = tile[t ^ 31]; // RACE reversal_in_step
}

// The warp's barrier does not order the other warp.
KERNEL reversal_of_two_warps_with_a_warp_barrier(const int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = 0;
    __syncthreads();
    tile[t] = x[t];
    __syncwarp();
    y[t] = tile[63 - t]; // RACE reversal_of_two_warps_with_a_warp_barrier
}

KERNEL fence_in_place_of_a_warp_barrier(const int *x, int *y) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = x[t];
    __threadfence_block();
    y[t] = tile[31 - t]; // RACE fence_in_place_of_a_warp_barrier
}

// A shuffle exchanges registers and orders no memory.
KERNEL shuffle_in_place_of_a_warp_barrier(const int *x, int *y) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = x[t];
    int lane = __shfl_sync(~0u, 31 - t, t);
    y[t] = tile[lane]; // RACE shuffle_in_place_of_a_warp_barrier
}

KERNEL warp_barriers_in_a_loop(const int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x, lane = t % 32;
    tile[t] = x[t];
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        int value = tile[t ^ half];
        __syncwarp();
        tile[t] += value;
        __syncwarp();
    }
    if (lane == 0) y[t / 32] = tile[t];
}

KERNEL one_warp_barrier_in_a_loop(const int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x, lane = t % 32;
    tile[t] = x[t];
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        int value = tile[t ^ half];
        tile[t] += value; // RACE one_warp_barrier_in_a_loop
        __syncwarp();
    }
    if (lane == 0) y[t / 32] = tile[t];
}

// As before Volta: volatile accesses of lanes that are taken to be in step.
KERNEL volatile_reduction_in_step(const int *x, int *y) {
    __shared__ int room[64];
    volatile int *tile = room;
    int t = threadIdx.x;
    room[t] = x[t];
    __syncthreads();
    if (t < 32) {
        tile[t] += tile[t + 32];
        tile[t] += tile[t + 16]; // RACE volatile_reduction_in_step
        if (t == 0) *y = tile[0];
    }
}

KERNEL warp_barrier_of_half_a_warp(const int *x, int *y) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = x[t];
    unsigned members = t < 16 ? 0xffffu : 0xffff0000u;
    __syncwarp(members);
    y[t] = tile[t ^ 15];
}

KERNEL warp_barrier_of_each_half_in_its_branch(const int *x, int *y) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = x[t];
    if (t < 16) {
        __syncwarp(0xffffu);
        y[t] = tile[15 - t];
    } else {
        __syncwarp(0xffff0000u);
        y[t] = tile[47 - t];
    }
}

// Each half has its own barrier, and reads the other half's cells.
KERNEL warp_barrier_of_the_wrong_half(const int *x, int *y) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = x[t];
    unsigned members = t < 16 ? 0xffffu : 0xffff0000u;
    __syncwarp(members);
    y[t] = tile[31 - t]; // RACE warp_barrier_of_the_wrong_half
}

KERNEL shuffle_in_tiles_of_a_warp(const int *x, int *y) {
    int t = threadIdx.x;
    unsigned members = 0xffu << t % 32 / 8 * 8;
    int sum = x[t];
    for (int lane = 4; lane > 0; lane /= 2) sum += __shfl_xor_sync(members, sum, lane);
    if (t % 8 == 0) y[t / 8] = sum;
}

KERNEL shuffle_across_tiles_of_a_warp(const int *x, int *y) {
    int t = threadIdx.x;
    unsigned members = 0xffu << t % 32 / 8 * 8;
    int sum = x[t];
    sum += __shfl_xor_sync(members, sum, 8); // LANES shuffle_across_tiles_of_a_warp
    y[t] = sum;
}

// A barrier waits for the members that have not exited.
KERNEL warp_barrier_after_some_lanes_have_exited(const int *x, int *y) {
    if (threadIdx.x >= 20) return;
    y[threadIdx.x] = x[threadIdx.x];
    __syncwarp(~0u);
    y[threadIdx.x] += 1;
}

// The other lanes wait at the block's barrier.
KERNEL warp_barrier_that_some_lanes_skip(const int *x, int *y) {
    if (threadIdx.x < 20) __syncwarp(~0u); // LANES warp_barrier_that_some_lanes_skip
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
}

KERNEL shuffle_of_lanes_that_are_no_members(const int *x, int *y) {
    y[threadIdx.x] = __shfl_sync(0xffff, x[threadIdx.x], 0); // LANES shuffle_of_lanes_that_are_no_members
}

KERNEL lanes_of_two_branches(const int *x, int *y) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = 0;
    __syncwarp();
    if (t < 16) tile[t] = x[t];
    else y[t] = tile[t - 16]; // RACE lanes_of_two_branches
}

KERNEL lanes_after_two_branches(const int *x, int *y) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    if (t < 16) tile[t] = x[t];
    __syncwarp();
    if (t >= 16) y[t] = tile[t - 16];
}

KERNEL one_addition_a_warp(const int *x, int *count) {
    unsigned members = __ballot_sync(~0u, x[thread_in_grid()] > 0);
    if (threadIdx.x % 32 == 0) atomicAdd(count, __popc(members));
}

KERNEL one_plain_addition_a_warp(const int *x, int *count) {
    unsigned members = __ballot_sync(~0u, x[thread_in_grid()] > 0);
    if (threadIdx.x % 32 == 0) *count += __popc(members); // RACE one_plain_addition_a_warp
}

KERNEL slots_of_a_warp(const int *x, int *count, int *y) {
    int value = x[thread_in_grid()];
    unsigned members = __ballot_sync(~0u, value > 0);
    int first = 0;
    if (threadIdx.x % 32 == 0) first = atomicAdd(count, __popc(members));
    first = __shfl_sync(~0u, first, 0);
    if (value > 0) y[first + __popc(members & ((1u << threadIdx.x % 32) - 1))] = value;
}

// The lane itself is counted among those before it, so that the last slot is the first of another warp.
KERNEL slots_of_a_warp_off_by_one(const int *x, int *count, int *y) {
    int value = x[thread_in_grid()];
    unsigned members = __ballot_sync(~0u, value > 0);
    int first = 0;
    if (threadIdx.x % 32 == 0) first = atomicAdd(count, __popc(members));
    first = __shfl_sync(~0u, first, 0);
    if (value > 0) y[first + __popc(members & ((2u << threadIdx.x % 32) - 2))] = value; // RACE slots_of_a_warp_off_by_one
}

KERNEL sums_of_warps_by_shared_memory(const int *x, int *y) {
    __shared__ int sums[2];
    int sum = x[threadIdx.x];
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) *y = sums[0] + sums[1];
}

KERNEL sums_of_warps_with_a_warp_barrier(const int *x, int *y) {
    __shared__ int sums[2];
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();
    int sum = x[threadIdx.x];
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncwarp();
    if (threadIdx.x == 0) *y = sums[0] + sums[1]; // RACE sums_of_warps_with_a_warp_barrier
}

// Asynchronous copies. A copy is complete when its thread has waited for it, and visible to others after a barrier.

KERNEL copy_of_own_cell(const int *x, int *y) {
    __shared__ int tile[64];
    copy_async(&tile[threadIdx.x], &x[threadIdx.x]);
    copy_wait_all();
    y[threadIdx.x] = tile[threadIdx.x];
}

KERNEL copy_without_a_wait(const int *x, int *y) {
    __shared__ int tile[64];
    copy_async(&tile[threadIdx.x], &x[threadIdx.x]);
    y[threadIdx.x] = tile[threadIdx.x]; // RACE copy_without_a_wait
}

KERNEL copy_over_a_value_without_a_wait(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = 0;
    copy_async(&tile[threadIdx.x], &x[threadIdx.x]);
    y[threadIdx.x] = tile[threadIdx.x]; // RACE copy_over_a_value_without_a_wait
    copy_wait_all();
}

KERNEL copy_of_another_thread(const int *x, int *y) {
    __shared__ int tile[64];
    copy_async(&tile[threadIdx.x], &x[threadIdx.x]);
    copy_wait_all();
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}

KERNEL copy_of_another_thread_without_a_barrier(const int *x, int *y) {
    __shared__ int tile[64];
    copy_async(&tile[threadIdx.x], &x[threadIdx.x]);
    copy_wait_all();
    y[threadIdx.x] = tile[threadIdx.x ^ 1]; // RACE copy_of_another_thread_without_a_barrier
}

KERNEL copy_with_the_barrier_before_the_wait(const int *x, int *y) {
    __shared__ int tile[64];
    copy_async(&tile[threadIdx.x], &x[threadIdx.x]);
    __syncthreads();
    copy_wait_all();
    y[threadIdx.x] = tile[threadIdx.x ^ 1]; // RACE copy_with_the_barrier_before_the_wait
}

KERNEL copies_of_two_stages(const int *x, int *y, int n) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    copy_async(&tiles[0][t], &x[t]);
    copy_commit();
    for (int step = 0; step < n / 64; step++) {
        if (step + 1 < n / 64) copy_async(&tiles[(step + 1) % 2][t], &x[(step + 1) * 64 + t]);
        copy_commit();
        copy_wait_but_one();
        __syncthreads();
        sum += tiles[step % 2][63 - t];
        __syncthreads();
    }
    y[t] = sum;
}

KERNEL copies_of_two_stages_with_one_barrier(const int *x, int *y, int n) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    copy_async(&tiles[0][t], &x[t]);
    copy_commit();
    for (int step = 0; step < n / 64; step++) {
        if (step + 1 < n / 64) copy_async(&tiles[(step + 1) % 2][t], &x[(step + 1) * 64 + t]);
        copy_commit();
        copy_wait_but_one();
        __syncthreads();
        sum += tiles[step % 2][63 - t]; // RACE copies_of_two_stages_with_one_barrier
    }
    y[t] = sum;
}

// The last copy of each thread is in flight when another reads it.
KERNEL copies_of_two_stages_waited_for_too_late(const int *x, int *y) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x;
    copy_async(&tiles[0][t], &x[t]);
    copy_commit();
    copy_async(&tiles[1][t], &x[64 + t]);
    copy_commit();
    copy_wait_but_one();
    __syncthreads();
    y[t] = tiles[0][63 - t] + tiles[1][63 - t]; // RACE copies_of_two_stages_waited_for_too_late
}

KERNEL copy_into_a_tile_that_is_read(const int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    y[t] = tile[t ^ 1]; // RACE copy_into_a_tile_that_is_read
    copy_async(&tile[t], &x[64 + t]);
    copy_wait_all();
    __syncthreads();
    y[t] += tile[t ^ 1];
}

// The copy may write before the barrier at which the readers arrive.
KERNEL copy_begun_before_the_readers_barrier(const int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    y[t] = tile[t ^ 32]; // RACE copy_begun_before_the_readers_barrier
    copy_async(&tile[t], &x[64 + t]);
    __syncthreads();
    copy_wait_all();
    __syncthreads();
    y[t] += tile[t ^ 32];
}

KERNEL copy_whose_source_is_overwritten(int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    copy_async(&tile[t], &x[t]);
    __syncthreads();
    x[t ^ 1] = 0; // RACE copy_whose_source_is_overwritten
    copy_wait_all();
    y[t] = tile[t];
}

KERNEL copy_whose_source_another_block_writes(int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        x[t] = t;
    } else {
        copy_async(&tile[t], &x[t]); // RACE copy_whose_source_another_block_writes
        copy_wait_all();
        y[t] = tile[t];
    }
}

// Clusters: each block writes or reads the next block's shared memory.

KERNEL cluster_writes_the_next_block(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    cluster_sync();
    cluster_store(cluster_address(&room[threadIdx.x], next), thread_in_grid());
    cluster_sync();
    y[thread_in_grid()] = load_plain(&room[threadIdx.x]);
}

KERNEL cluster_writes_without_the_second_barrier(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    store_plain(&room[threadIdx.x], 0);
    cluster_sync();
    cluster_store(cluster_address(&room[threadIdx.x], next), thread_in_grid());
    y[thread_in_grid()] = load_plain(&room[threadIdx.x]); // RACE cluster_writes_without_the_second_barrier
    cluster_sync();
}

KERNEL cluster_writes_with_a_barrier_of_the_block(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    store_plain(&room[threadIdx.x], 0);
    cluster_sync();
    cluster_store(cluster_address(&room[threadIdx.x], next), thread_in_grid());
    __syncthreads();
    y[thread_in_grid()] = load_plain(&room[threadIdx.x]); // RACE cluster_writes_with_a_barrier_of_the_block
    cluster_sync();
}

KERNEL cluster_writes_before_the_first_barrier(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    cluster_store(cluster_address(&room[threadIdx.x], next), thread_in_grid()); // BLOCK cluster_writes_before_the_first_barrier
    cluster_sync();
    y[thread_in_grid()] = load_plain(&room[threadIdx.x]);
}

KERNEL cluster_reads_the_next_block(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    store_plain(&room[threadIdx.x], thread_in_grid());
    cluster_sync();
    y[thread_in_grid()] = cluster_load(cluster_address(&room[threadIdx.x], next));
    cluster_sync();
}

// The first block that ends takes its shared memory with it.
KERNEL cluster_reads_a_block_that_has_ended(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    store_plain(&room[threadIdx.x], thread_in_grid());
    cluster_sync();
    y[thread_in_grid()] = cluster_load(cluster_address(&room[threadIdx.x], next)); // BLOCK cluster_reads_a_block_that_has_ended
}

KERNEL cluster_reads_a_block_that_there_is_not(int *y) {
    __shared__ int room[32];
    store_plain(&room[threadIdx.x], thread_in_grid());
    cluster_sync();
    y[thread_in_grid()] = cluster_load(cluster_address(&room[threadIdx.x], 2)); // BLOCK cluster_reads_a_block_that_there_is_not
    cluster_sync();
}

KERNEL cluster_writes_beyond_the_next_block(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    store_plain(&room[threadIdx.x], 0);
    cluster_sync();
    cluster_store(cluster_address(&room[threadIdx.x], next) + 4, 1); // BOUNDS cluster_writes_beyond_the_next_block
    cluster_sync();
    y[thread_in_grid()] = load_plain(&room[threadIdx.x]);
}

KERNEL cluster_barrier_that_one_block_skips(int *y) {
    y[thread_in_grid()] = 1;
    if (cluster_rank() == 1) return;
    cluster_sync();
    y[thread_in_grid()] = 2;
}

KERNEL cluster_overwrites_what_is_read(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    store_plain(&room[threadIdx.x], 1);
    cluster_sync();
    y[thread_in_grid()] = cluster_load(cluster_address(&room[threadIdx.x], next)); // RACE cluster_overwrites_what_is_read
    store_plain(&room[threadIdx.x], 2);
    cluster_sync();
}

KERNEL cluster_overwrites_after_a_barrier(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    store_plain(&room[threadIdx.x], 1);
    cluster_sync();
    y[thread_in_grid()] = cluster_load(cluster_address(&room[threadIdx.x], next));
    cluster_sync();
    store_plain(&room[threadIdx.x], 2);
}

KERNEL cluster_works_between_arrival_and_wait(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    cluster_sync();
    cluster_store(cluster_address(&room[threadIdx.x], next), thread_in_grid());
    cluster_arrive();
    y[thread_in_grid()] = 1;
    cluster_wait();
    y[thread_in_grid()] += load_plain(&room[threadIdx.x]);
}

// The write is after the arrival, so that the barrier does not order it.
KERNEL cluster_writes_between_arrival_and_wait(int *y) {
    __shared__ int room[32];
    unsigned rank = cluster_rank(), next = rank ^ 1;
    store_plain(&room[threadIdx.x], 0);
    cluster_sync();
    cluster_arrive();
    cluster_store(cluster_address(&room[threadIdx.x], next), thread_in_grid());
    cluster_wait();
    y[thread_in_grid()] = load_plain(&room[threadIdx.x]); // RACE cluster_writes_between_arrival_and_wait
    cluster_sync();
}

KERNEL cluster_additions_of_one_cluster(int *counts) { atomicAdd_cluster(&counts[blockIdx.x / 2], 1); }

KERNEL cluster_additions_of_two_clusters(int *count) {
    atomicAdd_cluster(count, 1); // RACE cluster_additions_of_two_clusters
}

KERNEL cluster_message(int *boxes, int *flags, int *y) {
    int *box = &boxes[blockIdx.x / 2], *flag = &flags[blockIdx.x / 2];
    if (blockIdx.x % 2 == 0) {
        *box = 42;
        fence_cluster();
        atomicExch_cluster(flag, 1);
    } else {
        while (atomicAdd_cluster(flag, 0) == 0) {}
        fence_cluster();
        y[blockIdx.x / 2] = *box;
    }
}

KERNEL cluster_message_fenced_for_the_block(int *boxes, int *flags, int *y) {
    int *box = &boxes[blockIdx.x / 2], *flag = &flags[blockIdx.x / 2];
    if (blockIdx.x % 2 == 0) {
        *box = 42;
        __threadfence_block();
        atomicExch_cluster(flag, 1);
    } else {
        while (atomicAdd_cluster(flag, 0) == 0) {}
        fence_cluster();
        y[blockIdx.x / 2] = *box; // RACE cluster_message_fenced_for_the_block
    }
}

// Blocks 0 and 2 are of different clusters.
KERNEL cluster_message_to_another_cluster(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        fence_cluster();
        atomicExch(flag, 1);
    } else if (blockIdx.x == 2) {
        while (atomicAdd(flag, 0) == 0) {}
        fence_cluster();
        *y = *box; // RACE cluster_message_to_another_cluster
    }
}

KERNEL cluster_barrier_orders_global_memory(int *x, int *y) {
    x[thread_in_grid()] = threadIdx.x;
    cluster_sync();
    y[thread_in_grid()] = x[thread_in_grid() ^ 32];
}

KERNEL cluster_barrier_and_the_other_cluster(int *x, int *y) {
    x[thread_in_grid()] = threadIdx.x;
    cluster_sync();
    y[thread_in_grid()] = x[thread_in_grid() ^ 64]; // RACE cluster_barrier_and_the_other_cluster
}
