// Guards, bounds, barriers, tiles and writes of the same value. tests/foreign/suite/data.rs has the launches and the
// labels.
#include "suite.h"

// Guards and bounds.

KERNEL guarded_copy(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i < n) y[i] = x[i];
}

KERNEL copy_without_a_guard(const int *x, int *y, int n) {
    int i = thread_in_grid();
    y[i] = x[i]; // BOUNDS copy_without_a_guard
}

KERNEL grid_stride_copy(const int *x, int *y, int n) {
    for (int i = thread_in_grid(); i < n; i += gridDim.x * blockDim.x) y[i] = x[i];
}

KERNEL grid_stride_one_too_far(const int *x, int *y, int n) {
    for (int i = thread_in_grid(); i <= n; i += gridDim.x * blockDim.x) y[i] = x[i]; // BOUNDS grid_stride_one_too_far
}

KERNEL grid_stride_by_the_block_only(const int *x, int *y, int n) {
    for (int i = thread_in_grid(); i < n; i += blockDim.x) y[i] = x[i] + blockIdx.x; // RACE grid_stride_by_the_block_only
}

KERNEL reversed_copy(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i < n) y[n - 1 - i] = x[i];
}

KERNEL reversed_copy_off_by_one(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i < n) y[n - i] = x[i]; // BOUNDS reversed_copy_off_by_one
}

KERNEL guard_of_both_dimensions(int *y, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) y[row * columns + column] = row - column;
}

KERNEL guard_of_one_dimension(int *y, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < columns) y[row * columns + column] = row - column; // BOUNDS guard_of_one_dimension
}

// A column beyond the last is a cell of the next row.
KERNEL guard_of_the_other_dimension(int *y, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows - 1) y[row * columns + column] = row - column; // RACE guard_of_the_other_dimension
}

KERNEL stencil_with_guards(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    int left = i > 0 ? x[i - 1] : 0, right = i + 1 < n ? x[i + 1] : 0;
    y[i] = left + x[i] + right;
}

KERNEL stencil_without_the_right_guard(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    int left = i > 0 ? x[i - 1] : 0;
    y[i] = left + x[i] + x[i + 1]; // BOUNDS stencil_without_the_right_guard
}

KERNEL wrapping_unsigned_guard(const int *x, int *y, unsigned n) {
    unsigned i = threadIdx.x - 1;
    if (i < n) y[i] = x[i];
}

KERNEL signed_guard_of_a_negative_index(const int *x, int *y, int n) {
    int i = (int)threadIdx.x - 1;
    if (i < n) y[i] = x[i]; // BOUNDS signed_guard_of_a_negative_index
}

KERNEL tile_with_halo(const int *x, int *y) {
    __shared__ int tile[66];
    int t = threadIdx.x;
    tile[t + 1] = x[t];
    if (t == 0) tile[0] = 0;
    if (t == 63) tile[65] = 0;
    __syncthreads();
    y[t] = tile[t] + tile[t + 1] + tile[t + 2];
}

KERNEL tile_without_room_for_its_halo(const int *x, int *y) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t + 1] = x[t]; // BOUNDS tile_without_room_for_its_halo
    __syncthreads();
    y[t] = tile[63 - t];
}

KERNEL tile_of_dynamic_memory(const int *x, int *y) {
    extern __shared__ int room[];
    room[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = room[63 - threadIdx.x];
}

KERNEL tile_beyond_dynamic_memory(const int *x, int *y) {
    extern __shared__ int room[];
    room[threadIdx.x] = x[threadIdx.x]; // BOUNDS tile_beyond_dynamic_memory
    __syncthreads();
    y[threadIdx.x] = room[63 - threadIdx.x];
}

KERNEL vectors_of_four(const float4 *x, float4 *y, int n) {
    int i = thread_in_grid();
    if (i < n / 4) y[i] = x[i];
}

KERNEL vectors_of_four_rounded_up(const float4 *x, float4 *y, int n) {
    int i = thread_in_grid();
    if (i < (n + 3) / 4) y[i] = x[i]; // BOUNDS vectors_of_four_rounded_up
}

KERNEL scatter_by_a_permutation(const int *to, int *y) { y[to[thread_in_grid()]] = thread_in_grid(); }

KERNEL scatter_by_a_table_with_repeats(const int *to, int *y) {
    y[to[thread_in_grid()]] = thread_in_grid(); // RACE scatter_by_a_table_with_repeats
}

KERNEL scatter_by_the_block_size(int *y, int stride) { y[blockIdx.x * stride + threadIdx.x] = thread_in_grid(); }

// The launch passes one less than the block size.
KERNEL scatter_by_too_small_a_stride(int *y, int stride) {
    y[blockIdx.x * stride + threadIdx.x] = thread_in_grid(); // RACE scatter_by_too_small_a_stride
}

// Cells that threads read and write in place.

KERNEL shift_in_place(int *x) {
    x[threadIdx.x] = x[threadIdx.x + 1]; // RACE shift_in_place
}

KERNEL shift_through_a_register(int *x) {
    int value = x[threadIdx.x + 1];
    __syncthreads();
    x[threadIdx.x] = value;
}

// The barrier orders the threads of one block only.
KERNEL shift_of_two_blocks(int *x) {
    int value = x[thread_in_grid() + 1]; // RACE shift_of_two_blocks
    __syncthreads();
    x[thread_in_grid()] = value;
}

KERNEL swap_of_pairs(int *x) {
    int i = threadIdx.x;
    if (i % 2 != 0) return;
    int value = x[i];
    x[i] = x[i + 1];
    x[i + 1] = value;
}

KERNEL swap_by_both_of_a_pair(int *x) {
    int i = threadIdx.x;
    int value = x[i ^ 1];
    x[i] = value; // RACE swap_by_both_of_a_pair
}

KERNEL odd_even_sort(int *x, int n) {
    for (int round = 0; round < n; round++) {
        int i = 2 * threadIdx.x + round % 2;
        if (i + 1 < n && x[i] > x[i + 1]) {
            int value = x[i];
            x[i] = x[i + 1];
            x[i + 1] = value;
        }
        __syncthreads();
    }
}

KERNEL odd_even_sort_without_a_barrier(int *x, int n) {
    for (int round = 0; round < n; round++) {
        int i = 2 * threadIdx.x + round % 2;
        if (i + 1 < n) {
            int low = x[i], high = x[i + 1]; // RACE odd_even_sort_without_a_barrier
            x[i] = low < high ? low : high;
            x[i + 1] = low < high ? high : low;
        }
    }
}

KERNEL bytes_of_one_word(unsigned char *y) { y[thread_in_grid()] = threadIdx.x; }

KERNEL bits_of_one_word(int *y) {
    *y |= 1 << threadIdx.x; // RACE bits_of_one_word
}

KERNEL bits_of_one_word_atomically(int *y) { atomicOr(y, 1 << threadIdx.x); }

// Tiles in shared memory, and the barriers around them.

KERNEL neighbour_after_a_barrier(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 32];
}

// The first warp reads what the second has not written.
KERNEL neighbour_without_a_barrier(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[threadIdx.x ^ 32]; // RACE neighbour_without_a_barrier
}

KERNEL fence_in_place_of_a_barrier(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = 0;
    __syncthreads();
    tile[threadIdx.x] = x[threadIdx.x];
    __threadfence_block();
    y[threadIdx.x] = tile[threadIdx.x ^ 32]; // RACE fence_in_place_of_a_barrier
}

KERNEL tree_reduction(const int *x, int *y) {
    __shared__ int partial[64];
    partial[threadIdx.x] = x[thread_in_grid()];
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = partial[0];
}

KERNEL tree_reduction_with_one_barrier(const int *x, int *y) {
    __shared__ int partial[64];
    partial[threadIdx.x] = x[thread_in_grid()];
    __syncthreads();
    for (int half = 32; half > 0; half /= 2)
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half]; // RACE tree_reduction_with_one_barrier
    if (threadIdx.x == 0) y[blockIdx.x] = partial[0];
}

// No barrier is between the last additions of thread 0 and thread 1's read.
KERNEL tree_reduction_read_too_early(const int *x, int *y) {
    __shared__ int partial[64];
    partial[threadIdx.x] = x[thread_in_grid()];
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    y[thread_in_grid()] = partial[0]; // RACE tree_reduction_read_too_early
}

KERNEL prefix_sums_of_two_buffers(const int *x, int *y) {
    __shared__ int buffers[2][64];
    int t = threadIdx.x, from = 0;
    buffers[0][t] = x[t];
    __syncthreads();
    for (int distance = 1; distance < 64; distance *= 2) {
        buffers[1 - from][t] = buffers[from][t] + (t >= distance ? buffers[from][t - distance] : 0);
        from = 1 - from;
        __syncthreads();
    }
    y[t] = buffers[from][t];
}

KERNEL prefix_sums_of_one_buffer(const int *x, int *y) {
    __shared__ int buffer[64];
    int t = threadIdx.x;
    buffer[t] = x[t];
    __syncthreads();
    for (int distance = 1; distance < 64; distance *= 2) {
        int sum = buffer[t] + (t >= distance ? buffer[t - distance] : 0);
        __syncthreads();
        buffer[t] = sum;
        __syncthreads();
    }
    y[t] = buffer[t];
}

KERNEL prefix_sums_with_one_barrier(const int *x, int *y) {
    __shared__ int buffer[64];
    int t = threadIdx.x;
    buffer[t] = x[t];
    __syncthreads();
    for (int distance = 1; distance < 64; distance *= 2) {
        int before = t >= distance ? buffer[t - distance] : 0;
        buffer[t] += before; // RACE prefix_sums_with_one_barrier
        __syncthreads();
    }
    y[t] = buffer[t];
}

KERNEL tiles_with_two_barriers(const int *x, int *y, int n) {
    __shared__ int tile[64];
    int sum = 0;
    for (int first = 0; first < n; first += 64) {
        tile[threadIdx.x] = x[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 64; k++) sum += tile[k];
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

KERNEL tiles_without_the_second_barrier(const int *x, int *y, int n) {
    __shared__ int tile[64];
    int sum = 0;
    for (int first = 0; first < n; first += 64) {
        tile[threadIdx.x] = x[first + threadIdx.x]; // RACE tiles_without_the_second_barrier
        __syncthreads();
        for (int k = 0; k < 64; k++) sum += tile[k];
    }
    y[threadIdx.x] = sum;
}

KERNEL tiles_without_the_first_barrier(const int *x, int *y, int n) {
    __shared__ int tile[64];
    tile[threadIdx.x] = 0;
    __syncthreads();
    int sum = 0;
    for (int first = 0; first < n; first += 64) {
        tile[threadIdx.x] = x[first + threadIdx.x]; // RACE tiles_without_the_first_barrier
        for (int k = 0; k < 64; k++) sum += tile[k];
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

KERNEL double_buffer(const int *x, int *y, int n) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    for (int step = 0; step < n / 64; step++) {
        tiles[step % 2][t] = x[step * 64 + t];
        __syncthreads();
        sum += tiles[step % 2][63 - t];
    }
    y[t] = sum;
}

// Both halves are written in the same place.
KERNEL double_buffer_of_one_half(const int *x, int *y, int n) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    for (int step = 0; step < n / 64; step++) {
        tiles[step / 2 % 2][t] = x[step * 64 + t]; // RACE double_buffer_of_one_half
        __syncthreads();
        sum += tiles[step / 2 % 2][63 - t];
    }
    y[t] = sum;
}

KERNEL double_buffer_filled_ahead(const int *x, int *y, int n) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    tiles[0][t] = x[t];
    __syncthreads();
    for (int step = 0; step < n / 64; step++) {
        if (step + 1 < n / 64) tiles[(step + 1) % 2][t] = x[(step + 1) * 64 + t];
        sum += tiles[step % 2][63 - t];
        __syncthreads();
    }
    y[t] = sum;
}

// Each second barrier is missing.
KERNEL double_buffer_with_half_the_barriers(const int *x, int *y, int n) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    tiles[0][t] = x[t];
    tiles[1][t] = 0;
    __syncthreads();
    for (int step = 0; step < n / 64; step++) {
        if (step + 1 < n / 64) tiles[(step + 1) % 2][t] = x[(step + 1) * 64 + t]; // RACE double_buffer_with_half_the_barriers
        sum += tiles[step % 2][63 - t];
        if (step % 2 == 1) __syncthreads();
    }
    y[t] = sum;
}

KERNEL histogram_in_shared_memory(const int *x, int *bins) {
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[x[thread_in_grid()] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

KERNEL histogram_zeroed_without_a_barrier(const int *x, int *bins) {
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0; // RACE histogram_zeroed_without_a_barrier
    atomicAdd(&own[x[thread_in_grid()] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

KERNEL histogram_read_without_a_barrier(const int *x, int *bins) {
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[x[thread_in_grid()] & 15], 1);
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]); // RACE histogram_read_without_a_barrier
}

KERNEL histogram_with_plain_additions(const int *x, int *bins) {
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    own[x[thread_in_grid()] & 15] += 1; // RACE histogram_with_plain_additions
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

KERNEL broadcast_of_thread_0(const int *x, int *y, int n) {
    __shared__ int value;
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (threadIdx.x == 0) value = x[i];
        __syncthreads();
        sum += load_plain(&value);
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

KERNEL broadcast_without_the_second_barrier(const int *x, int *y, int n) {
    __shared__ int value;
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (threadIdx.x == 0) value = x[i]; // RACE broadcast_without_the_second_barrier
        __syncthreads();
        sum += value;
    }
    y[threadIdx.x] = sum;
}

KERNEL barrier_in_a_branch_of_all(const int *x, int *y, int n) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (n > 0) __syncthreads();
    y[threadIdx.x] = n > 0 ? tile[63 - threadIdx.x] : 0;
}

KERNEL barrier_in_a_branch_of_some(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 48) {
        __syncthreads(); // NOTE barrier_in_a_branch_of_some
        y[threadIdx.x] = tile[threadIdx.x ^ 1];
    }
}

KERNEL barrier_behind_a_guard(const int *x, int *y, int n) {
    __shared__ int tile[64];
    if (threadIdx.x >= n) return;
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads(); // NOTE barrier_behind_a_guard
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// The launch ends the second warp.
KERNEL barrier_behind_a_guard_of_whole_warps(const int *x, int *y, int n) {
    __shared__ int tile[64];
    if (threadIdx.x >= n) return;
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// The other lanes go on to the second barrier.
KERNEL barrier_behind_a_branch_of_lanes(const int *x, int *y, int n) {
    __shared__ int tile[64];
    if (threadIdx.x < n) {
        tile[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = tile[threadIdx.x ^ 1];
    }
    __syncthreads(); // BARRIER barrier_behind_a_branch_of_lanes
    if (threadIdx.x == 0) y[63] = tile[0];
}

KERNEL barrier_before_a_guard(const int *x, int *y, int n) {
    __shared__ int tile[64];
    tile[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0;
    __syncthreads();
    if (threadIdx.x >= n) return;
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

KERNEL barrier_in_a_loop_of_equal_length(const int *x, int *y) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int i = 0; i < x[0]; i++) {
        if (threadIdx.x == i) sum += i;
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

// The launch passes a length for each warp.
KERNEL barrier_in_a_loop_of_each_length(const int *x, int *y) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int i = 0; i < x[threadIdx.x / 32]; i++) {
        if (threadIdx.x == i) sum += i;
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

// Lanes leave the loop and end; the others go on meeting.
KERNEL barrier_in_a_loop_of_each_threads_length(int *y) {
    __shared__ int sums[64];
    sums[threadIdx.x] = 0;
    for (int i = threadIdx.x % 3; i < 3; i++) {
        sums[threadIdx.x] += i;
        __syncthreads(); // NOTE barrier_in_a_loop_of_each_threads_length
    }
    y[threadIdx.x] = sums[threadIdx.x];
}

KERNEL a_barrier_in_each_branch(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 32) {
        y[threadIdx.x] = 1;
        __syncthreads();
        y[threadIdx.x] += tile[threadIdx.x + 32];
    } else {
        y[threadIdx.x] = 2;
        __syncthreads(); // NOTE a_barrier_in_each_branch
        y[threadIdx.x] -= tile[threadIdx.x - 32];
    }
}

KERNEL a_barrier_in_each_branch_of_lanes(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x % 2 == 0) {
        y[threadIdx.x] = 1;
        __syncthreads(); // BARRIER a_barrier_in_each_branch_of_lanes
        y[threadIdx.x] += tile[63 - threadIdx.x];
    } else {
        y[threadIdx.x] = 2;
        __syncthreads();
        y[threadIdx.x] -= tile[63 - threadIdx.x];
    }
}

// All lanes load a sum, of which two are written and used.
KERNEL sum_of_two_warps_by_all_lanes(const int *x, int *y) {
    __shared__ int sums[32];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        int sum = sums[threadIdx.x]; // NOTE sum_of_two_warps_by_all_lanes
        sum += __shfl_xor_sync(~0u, sum, 1);
        if (threadIdx.x == 0) *y = sum;
    }
}

KERNEL sum_of_32_warps_of_which_two_exist(const int *x, int *y) {
    __shared__ int sums[32];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        int sum = sums[threadIdx.x]; // UNINITIALISED sum_of_32_warps_of_which_two_exist
        for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
        if (threadIdx.x == 0) *y = sum;
    }
}

KERNEL barrier_of_a_warp_with_few_lanes(const int *x, int *y) {
    __shared__ int tile[48];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[47 - threadIdx.x];
}

KERNEL barrier_in_a_branch_of_the_block(const int *x, int *y) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[thread_in_grid()];
    if (blockIdx.x == 0) {
        y[thread_in_grid()] = 1;
        __syncthreads();
    } else {
        __syncthreads();
        y[thread_in_grid()] = tile[63 - threadIdx.x];
    }
}

KERNEL rounds_until_no_thread_changes_a_cell(int *x) {
    __shared__ int cells[64];
    int t = threadIdx.x;
    cells[t] = x[t];
    __syncthreads();
    int changes;
    do {
        int larger = t > 0 && cells[t - 1] > cells[t] ? cells[t - 1] : cells[t];
        changes = larger != cells[t];
        __syncthreads();
        cells[t] = larger;
    } while (barrier_any(changes));
    x[t] = cells[t];
}

KERNEL rounds_with_a_plain_flag(int *x) {
    __shared__ int cells[64], changed;
    int t = threadIdx.x;
    cells[t] = x[t];
    if (t == 0) changed = 1;
    __syncthreads();
    while (load_plain(&changed)) {
        if (t == 0) store_plain(&changed, 0); // RACE rounds_with_a_plain_flag
        int larger = t > 0 && cells[t - 1] > cells[t] ? cells[t - 1] : cells[t];
        int changes = larger != cells[t];
        __syncthreads();
        cells[t] = larger;
        if (changes) store_plain(&changed, 1);
        __syncthreads();
    }
    x[t] = cells[t];
}

KERNEL vector_over_cells_of_another_thread(float *y) {
    if (threadIdx.x == 0) {
        float4 v = {1, 2, 3, 4};
        *(float4 *)y = v; // RACE vector_over_cells_of_another_thread
    } else if (threadIdx.x == 2) {
        y[2] = 5;
    }
}

KERNEL byte_of_a_word_that_another_thread_writes(int *y) {
    if (threadIdx.x == 0) *y = 7; // RACE byte_of_a_word_that_another_thread_writes
    else if (threadIdx.x == 3) ((char *)y)[3] = 1;
}

KERNEL other_block_after_a_barrier_of_the_block(int *x, int *y) {
    x[thread_in_grid()] = threadIdx.x;
    __syncthreads();
    y[thread_in_grid()] = x[thread_in_grid() ^ 64]; // RACE other_block_after_a_barrier_of_the_block
}

// Named barriers: the second warp fills tiles, and the first reads them.

KERNEL named_barriers_of_two_warps(const int *x, int *y, int n) {
    __shared__ int tile[32];
    int lane = threadIdx.x % 32, sum = 0;
    for (int step = 0; step < n / 32; step++) {
        if (threadIdx.x >= 32) {
            tile[lane] = x[step * 32 + lane];
            barrier_arrive(1, 64);
            barrier_sync(2, 64);
        } else {
            barrier_sync(1, 64);
            sum += tile[31 - lane];
            barrier_arrive(2, 64);
        }
    }
    if (threadIdx.x < 32) y[lane] = sum;
}

// The second warp does not wait until its first tile has been read.
KERNEL named_barriers_of_one_direction(const int *x, int *y) {
    __shared__ int tile[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x >= 32) {
        tile[lane] = x[lane];
        barrier_arrive(1, 64);
        tile[lane] = x[32 + lane]; // RACE named_barriers_of_one_direction
        barrier_arrive(2, 64);
    } else {
        barrier_sync(1, 64);
        int sum = tile[31 - lane];
        barrier_sync(2, 64);
        y[lane] = sum + tile[31 - lane];
    }
}

KERNEL named_barrier_of_the_wrong_warps(const int *x, int *y) {
    __shared__ int tile[96];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 64) {
        tile[threadIdx.x] += 1;
        barrier_sync(1, 64);
        y[threadIdx.x] = tile[threadIdx.x ^ 32];
    } else {
        y[threadIdx.x] = tile[threadIdx.x - 64]; // RACE named_barrier_of_the_wrong_warps
    }
}

// Writes of the same value.

KERNEL found_by_all(int *found) {
    *found = 1; // SAME found_by_all
}

KERNEL found_by_some(const int *x, int *found) {
    if (x[thread_in_grid()] > 0) *found = 1; // SAME found_by_some
}

KERNEL found_by_one(const int *x, int *found) {
    if (thread_in_grid() == 37) *found = x[37];
}

KERNEL found_by_all_and_read_after_a_barrier(const int *x, int *y) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (x[threadIdx.x] > 0) found = 1; // SAME found_by_all_and_read_after_a_barrier
    __syncthreads();
    y[threadIdx.x] = load_plain(&found);
}

KERNEL first_element_by_all(const int *x, int *y) {
    y[0] = x[0]; // SAME first_element_by_all
}

KERNEL same_value_but_of_one(int *y) {
    *y = thread_in_grid() == 40 ? 2 : 1; // RACE same_value_but_of_one
}

KERNEL different_values(int *y) {
    *y = thread_in_grid(); // RACE different_values
}

KERNEL same_value_and_own_read(int *y) {
    __shared__ int value;
    store_plain(&value, 5); // SAME same_value_and_own_read
    y[threadIdx.x] = load_plain(&value);
}

KERNEL two_branches_of_different_values(int *y) {
    if (threadIdx.x % 2 == 0) y[blockIdx.x] = 1; // RACE two_branches_of_different_values
    else y[blockIdx.x] = 2;
}

KERNEL last_of_the_same_value_twice(int *y) {
    store_plain(y, 5);
    if (threadIdx.x == 1) store_plain(y, 6); // RACE last_of_the_same_value_twice
}

KERNEL value_stored_again_while_all_read(int *y) {
    __shared__ int value;
    if (threadIdx.x == 0) store_plain(&value, 42);
    __syncthreads();
    if (threadIdx.x == 0) store_plain(&value, 42); // SAME value_stored_again_while_all_read
    y[threadIdx.x] = load_plain(&value);
}

KERNEL other_value_stored_while_all_read(int *y) {
    __shared__ int value;
    if (threadIdx.x == 0) store_plain(&value, 41);
    __syncthreads();
    if (threadIdx.x == 0) store_plain(&value, 42); // RACE other_value_stored_while_all_read
    y[threadIdx.x] = load_plain(&value);
}

KERNEL value_stored_twice_while_all_read(int *y) {
    __shared__ int value;
    if (threadIdx.x == 0) {
        store_plain(&value, 42); // RACE value_stored_twice_while_all_read
        store_plain(&value, 42);
    }
    if (threadIdx.x > 0) y[threadIdx.x] = load_plain(&value);
}

KERNEL largest_stored_by_those_who_read_it(const int *x, int *largest) {
    for (int i = 0; i < 4; i++) {
        if (load_plain(largest) < x[i]) store_plain(largest, x[i]); // RACE largest_stored_by_those_who_read_it
    }
}
