// Locks, deadlocks, waits for other threads and blocks, and barriers of the grid. tests/foreign/suite/waits.rs has the
// launches and the labels.
#include "suite.h"

// Locks.

KERNEL lock_with_fences(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
}

KERNEL lock_without_fences(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum += 1; // RACE lock_without_fences
    atomicExch(lock, 0);
}

KERNEL lock_without_the_first_fence(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum += 1; // RACE lock_without_the_first_fence
    __threadfence();
    atomicExch(lock, 0);
}

KERNEL lock_without_the_second_fence(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += 1; // RACE lock_without_the_second_fence
    atomicExch(lock, 0);
}

KERNEL lock_whose_first_owner_has_no_fence(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    if (blockIdx.x != 0) __threadfence();
    *sum += 1; // RACE lock_whose_first_owner_has_no_fence
    __threadfence();
    atomicExch(lock, 0);
}

KERNEL lock_whose_second_owner_has_no_fence(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    if (blockIdx.x != 1) __threadfence();
    *sum += 1; // RACE lock_whose_second_owner_has_no_fence
    __threadfence();
    atomicExch(lock, 0);
}

KERNEL lock_opened_by_a_plain_store(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += 1;
    __threadfence();
    store_plain(lock, 0); // RACE lock_opened_by_a_plain_store
}

KERNEL lock_opened_by_a_volatile_store(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += 1;
    __threadfence();
    *(volatile int *)lock = 0;
}

KERNEL lock_opened_by_a_release(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += 1;
    store_release(lock, 0);
}

KERNEL lock_of_scope_block_of_two_blocks(int *lock, int *sum) {
    while (atomicCAS_block(lock, 0, 1) != 0) {} // RACE lock_of_scope_block_of_two_blocks
    __threadfence_block();
    *sum += 1;
    __threadfence_block();
    atomicExch_block(lock, 0);
}

KERNEL lock_of_scope_block_of_two_warps(int *lock, int *sum) {
    if (threadIdx.x % 32 != 0) return;
    while (atomicCAS_block(lock, 0, 1) != 0) {}
    __threadfence_block();
    *sum += 1;
    __threadfence_block();
    atomicExch_block(lock, 0);
}

KERNEL lock_of_each_block(int *locks, int *sum) {
    while (atomicCAS(&locks[blockIdx.x], 0, 1) != 0) {}
    __threadfence();
    *sum += 1; // RACE lock_of_each_block
    __threadfence();
    atomicExch(&locks[blockIdx.x], 0);
}

KERNEL lock_of_each_cell(const int *x, int *locks, int *sums) {
    int cell = x[blockIdx.x] & 1;
    while (atomicCAS(&locks[cell], 0, 1) != 0) {}
    __threadfence();
    sums[cell] += 1;
    __threadfence();
    atomicExch(&locks[cell], 0);
}

KERNEL read_outside_of_the_lock(int *lock, int *sum, int *y) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
    y[blockIdx.x] = *sum; // RACE read_outside_of_the_lock
}

KERNEL write_before_the_lock(int *lock, int *data) {
    if (blockIdx.x == 0) *data = 1; // RACE write_before_the_lock
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    if (blockIdx.x == 1) *data = 2;
    __threadfence();
    atomicExch(lock, 0);
}

KERNEL write_after_the_lock(int *lock, int *data) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    if (blockIdx.x == 1) *data = 2;
    __threadfence();
    atomicExch(lock, 0);
    if (blockIdx.x == 0) *data = 1; // RACE write_after_the_lock
}

KERNEL write_of_the_second_block_before_the_lock(int *lock, int *data) {
    if (blockIdx.x == 1) *data = 1; // RACE write_of_the_second_block_before_the_lock
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    if (blockIdx.x == 0) *data = 2;
    __threadfence();
    atomicExch(lock, 0);
}

KERNEL both_writes_under_the_lock(int *lock, int *data) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *data = blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
}

KERNEL try_lock(int *lock, int *sum) {
    if (atomicCAS(lock, 0, 1) != 0) return;
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
}

// The result of the attempt is not looked at.
KERNEL try_lock_that_always_succeeds(int *lock, int *sum) {
    atomicCAS(lock, 0, 1);
    __threadfence();
    *sum += 1; // RACE try_lock_that_always_succeeds
    __threadfence();
    atomicExch(lock, 0);
}

// Two blocks may see the lock open before either closes it.
KERNEL lock_by_look_and_store(int *lock, int *sum) {
    while (load_acquire(lock) != 0) {}
    store_relaxed(lock, 1);
    *sum += 1; // RACE lock_by_look_and_store
    store_release(lock, 0);
}

KERNEL ticket_lock(int *next, int *serving, int *sum) {
    int ticket = atomicAdd(next, 1);
    while (load_acquire(serving) != ticket) {}
    *sum += 1;
    store_release(serving, ticket + 1);
}

KERNEL ticket_lock_that_is_not_acquired(int *next, int *serving, int *sum) {
    int ticket = atomicAdd(next, 1);
    while (load_relaxed(serving) != ticket) {}
    *sum += 1; // RACE ticket_lock_that_is_not_acquired
    store_release(serving, ticket + 1);
}

KERNEL ticket_lock_served_plainly(int *next, int *serving, int *sum) {
    int ticket = atomicAdd(next, 1);
    while (load_acquire(serving) != ticket) {} // RACE ticket_lock_served_plainly
    *sum += 1;
    __threadfence();
    store_plain(serving, ticket + 1);
}

KERNEL ticket_lock_that_serves_two(int *next, int *serving, int *sum) {
    int ticket = atomicAdd(next, 1);
    while (load_acquire(serving) + 1 < ticket) {}
    *sum += 1; // RACE ticket_lock_that_serves_two
    atomicAdd(serving, 1);
}

KERNEL readers_and_a_writer(int *state, int *data, int *y) {
    if (blockIdx.x == 1) {
        while (atomicCAS(state, 0, -1) != 0) {}
        __threadfence();
        *data = 7;
        __threadfence();
        atomicExch(state, 0);
    } else {
        int readers = atomicAdd(state, 0);
        while (true) {
            if (readers >= 0) {
                int found = atomicCAS(state, readers, readers + 1);
                if (found == readers) break;
                readers = found;
            } else {
                readers = atomicAdd(state, 0);
            }
        }
        __threadfence();
        y[blockIdx.x] = *data;
        __threadfence();
        atomicAdd(state, -1);
    }
}

// A writer that looks only for other writers.
KERNEL readers_and_a_hasty_writer(int *state, int *data, int *y) {
    if (blockIdx.x == 1) {
        while (atomicAdd(state, 0) < 0) {}
        __threadfence();
        *data = 7; // RACE readers_and_a_hasty_writer
    } else {
        atomicAdd(state, 1);
        __threadfence();
        y[blockIdx.x] = *data;
        __threadfence();
        atomicAdd(state, -1);
    }
}

// Deadlocks.

KERNEL two_locks_in_one_order(int *locks, int *sum) {
    while (atomicCAS(&locks[0], 0, 1) != 0) {}
    while (atomicCAS(&locks[1], 0, 1) != 0) {}
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(&locks[1], 0);
    atomicExch(&locks[0], 0);
}

KERNEL two_locks_in_both_orders(int *locks, int *sum) {
    int first = blockIdx.x, second = 1 - first;
    while (atomicCAS(&locks[first], 0, 1) != 0) {}
    while (atomicCAS(&locks[second], 0, 1) != 0) {} // WAITS two_locks_in_both_orders
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(&locks[second], 0);
    atomicExch(&locks[first], 0);
}

KERNEL ring_of_three_locks(int *locks, int *sums) {
    int left = blockIdx.x, right = (left + 1) % 3;
    while (atomicCAS(&locks[left], 0, 1) != 0) {}
    while (atomicCAS(&locks[right], 0, 1) != 0) {} // WAITS ring_of_three_locks
    sums[left] += 1;
    atomicExch(&locks[right], 0);
    atomicExch(&locks[left], 0);
}

KERNEL ring_of_three_locks_by_number(int *locks, int *sums) {
    int left = blockIdx.x, right = (left + 1) % 3;
    int low = left < right ? left : right, high = left < right ? right : left;
    while (atomicCAS(&locks[low], 0, 1) != 0) {}
    while (atomicCAS(&locks[high], 0, 1) != 0) {}
    sums[left] += 1;
    atomicExch(&locks[high], 0);
    atomicExch(&locks[low], 0);
}

// A block that does not get the second lock opens the first and tries again.
KERNEL two_locks_with_a_way_back(int *locks, int *sum) {
    int first = blockIdx.x, second = 1 - first;
    while (true) {
        while (atomicCAS(&locks[first], 0, 1) != 0) {}
        if (atomicCAS(&locks[second], 0, 1) == 0) break;
        atomicExch(&locks[first], 0);
    }
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(&locks[second], 0);
    atomicExch(&locks[first], 0);
}

KERNEL lock_that_stays_closed(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {} // WAITS lock_that_stays_closed
    __threadfence();
    *sum += 1;
}

KERNEL lock_that_stays_closed_on_one_path(const int *x, int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {} // WAITS lock_that_stays_closed_on_one_path
    __threadfence();
    if (x[blockIdx.x] == 0) return;
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
}

KERNEL lock_taken_twice(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum += 1;
    while (atomicCAS(lock, 0, 1) != 0) {} // WAITS lock_taken_twice
    *sum += 1;
    atomicExch(lock, 0);
}

KERNEL lock_of_lanes_within_the_loop(int *lock, int *sum) {
    bool is_done = false;
    while (!is_done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *sum += 1;
            __threadfence();
            atomicExch(lock, 0);
            is_done = true;
        }
    }
}

// Right with independent thread scheduling: the lane that has the lock makes progress while others wait.
KERNEL lock_of_lanes_around_the_loop(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
}

// The owner waits for the lanes that wait for the lock.
KERNEL lock_of_lanes_around_a_warp_barrier(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {} // WAITS lock_of_lanes_around_a_warp_barrier
    __syncwarp(~0u);
    *sum += 1;
    atomicExch(lock, 0);
}

KERNEL lock_of_threads_around_a_barrier(int *lock, int *sum) {
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {} // WAITS lock_of_threads_around_a_barrier
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicExch(lock, 0);
}

KERNEL lock_of_one_thread_around_a_barrier(int *lock, int *sum) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 40) *sum += 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(lock, 0);
    }
}

// Waits within a block.

KERNEL warp_that_waits_for_the_other(int *y) {
    __shared__ int flag, box;
    if (threadIdx.x == 0) flag = box = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicAdd_block(&flag, 0) == 0) {}
        __threadfence_block();
        *y = load_plain(&box);
    } else if (threadIdx.x == 32) {
        store_plain(&box, 5);
        __threadfence_block();
        atomicExch_block(&flag, 1);
    }
}

KERNEL warp_that_waits_for_no_other(int *y) {
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicAdd_block(&flag, 0) == 0) {} // WAITS warp_that_waits_for_no_other
        *y = 1;
    } else if (threadIdx.x == 70) {
        atomicExch_block(&flag, 1);
    }
}

// The threads that would raise the flag wait at the barrier.
KERNEL thread_that_waits_for_those_at_a_barrier(int *flag, int *y) {
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) {} // WAITS thread_that_waits_for_those_at_a_barrier
    }
    __syncthreads();
    if (threadIdx.x == 1) atomicExch(flag, 1);
    y[threadIdx.x] = 1;
}

KERNEL thread_that_waits_for_those_before_a_barrier(int *flag, int *y) {
    if (threadIdx.x == 1) atomicExch(flag, 1);
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) {}
    }
    __syncthreads();
    y[threadIdx.x] = 1;
}

KERNEL lane_that_waits_for_another(int *flag, int *y) {
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) {}
        *y = 1;
    } else if (threadIdx.x == 1) {
        atomicExch(flag, 1);
    }
}

KERNEL lane_that_waits_for_those_at_a_warp_barrier(int *flag, int *y) {
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) {} // WAITS lane_that_waits_for_those_at_a_warp_barrier
    }
    __syncwarp(~0u);
    if (threadIdx.x == 1) atomicExch(flag, 1);
    y[threadIdx.x] = 1;
}

KERNEL lane_that_waits_for_a_higher_count(int *count, int *y) {
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) <= 32) {} // WAITS lane_that_waits_for_a_higher_count
    y[threadIdx.x] = 1;
}

KERNEL lane_that_waits_for_the_count(int *count, int *y) {
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < 32) {}
    y[threadIdx.x] = 1;
}

KERNEL thread_that_waits_for_either_flag(int *flags, int *y) {
    if (threadIdx.x == 32) atomicExch(&flags[1], 1);
    if (threadIdx.x == 0) {
        while (atomicAdd(&flags[0], 0) == 0 && atomicAdd(&flags[1], 0) == 0) {}
        *y = 1;
    }
}

KERNEL thread_that_waits_for_both_flags(int *flags, int *y) {
    if (threadIdx.x == 32) atomicExch(&flags[1], 1);
    if (threadIdx.x == 0) {
        while (atomicAdd(&flags[1], 0) == 0 || atomicAdd(&flags[0], 0) == 0) {} // WAITS thread_that_waits_for_both_flags
        *y = 1;
    }
}

KERNEL poll_a_number_of_times(int *flag, int *y) {
    int polls = 0;
    while (atomicAdd(flag, 0) == 0 && polls < 1000) polls++;
    y[blockIdx.x] = polls;
}

// Waits for other blocks. Without a cooperative launch, blocks need not be resident at the same time.

KERNEL wait_for_the_block_before(int *flags, int *y) {
    if (blockIdx.x > 0) {
        while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) {}
    }
    y[blockIdx.x] = 1;
    atomicExch(&flags[blockIdx.x], 1);
}

KERNEL wait_for_the_block_after(int *flags, int *y) {
    if (blockIdx.x + 1 < gridDim.x) {
        while (atomicAdd(&flags[blockIdx.x + 1], 0) == 0) {} // WAITS wait_for_the_block_after
    }
    y[blockIdx.x] = 1;
    atomicExch(&flags[blockIdx.x], 1);
}

KERNEL wait_for_the_block_after_in_a_cooperative_launch(int *flags, int *y) {
    if (blockIdx.x + 1 < gridDim.x) {
        while (atomicAdd(&flags[blockIdx.x + 1], 0) == 0) {}
    }
    y[blockIdx.x] = 1;
    atomicExch(&flags[blockIdx.x], 1);
}

KERNEL wait_in_a_circle(int *flags, int *y) {
    int before = (blockIdx.x + gridDim.x - 1) % gridDim.x;
    while (atomicAdd(&flags[before], 0) == 0) {} // WAITS wait_in_a_circle
    y[blockIdx.x] = 1;
    atomicExch(&flags[blockIdx.x], 1);
}

KERNEL wait_for_a_block_that_there_is_not(int *flags, int *y) {
    while (atomicAdd(&flags[blockIdx.x / 2 + gridDim.x], 0) == 0) {} // WAITS wait_for_a_block_that_there_is_not
    y[blockIdx.x] = 1;
}

KERNEL wait_for_a_volatile_flag_of_the_block_after(volatile int *flag, int *y) {
    if (blockIdx.x == 0) {
        while (*flag == 0) {} // WAITS wait_for_a_volatile_flag_of_the_block_after
        *y = 1;
    } else {
        *flag = 1;
    }
}

KERNEL chained_sums(const int *x, int *flags, int *sums) {
    int before = 0;
    if (blockIdx.x > 0) {
        while (load_acquire(&flags[blockIdx.x - 1]) == 0) {}
        before = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = before + x[blockIdx.x];
    store_release(&flags[blockIdx.x], 1);
}

KERNEL chained_sums_by_relaxed_flags(const int *x, int *flags, int *sums) {
    int before = 0;
    if (blockIdx.x > 0) {
        while (load_relaxed(&flags[blockIdx.x - 1]) == 0) {}
        before = sums[blockIdx.x - 1]; // RACE chained_sums_by_relaxed_flags
    }
    sums[blockIdx.x] = before + x[blockIdx.x];
    store_relaxed(&flags[blockIdx.x], 1);
}

KERNEL chained_sums_from_the_end(const int *x, int *flags, int *sums) {
    int after = 0;
    if (blockIdx.x + 1 < gridDim.x) {
        while (load_acquire(&flags[blockIdx.x + 1]) == 0) {} // WAITS chained_sums_from_the_end
        after = sums[blockIdx.x + 1];
    }
    sums[blockIdx.x] = after + x[blockIdx.x];
    store_release(&flags[blockIdx.x], 1);
}

// Blocks are numbered in the order in which they start.
KERNEL chained_sums_by_tickets(const int *x, int *next, int *flags, int *sums) {
    int block = atomicAdd(next, 1), before = 0;
    if (block > 0) {
        while (load_acquire(&flags[block - 1]) == 0) {}
        before = sums[block - 1];
    }
    sums[block] = before + x[block];
    store_release(&flags[block], 1);
}

KERNEL chained_sums_that_look_back(const int *x, int *states, int *y) {
    int b = blockIdx.x, value = x[b] & 255;
    atomicExch(&states[b], 1 << 16 | value);
    int sum = 0;
    for (int back = b - 1; back >= 0; back--) {
        int state;
        while ((state = atomicAdd(&states[back], 0)) == 0) {}
        sum += state & 65535;
        if (state >> 16 == 2) break;
    }
    atomicExch(&states[b], 2 << 16 | (sum + value));
    y[b] = sum;
}

KERNEL chained_sums_that_skip_a_flag(const int *x, int *flags, int *sums) {
    int before = 0;
    if (blockIdx.x > 0) {
        if (blockIdx.x != 2) while (load_acquire(&flags[blockIdx.x - 1]) == 0) {}
        before = sums[blockIdx.x - 1]; // RACE chained_sums_that_skip_a_flag
    }
    sums[blockIdx.x] = before + x[blockIdx.x];
    store_release(&flags[blockIdx.x], 1);
}

// Barriers of the grid. Each block writes its cells and then reads the next block's.

BUILT_IN void grid_barrier(int *count, int expected) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < expected) {}
        __threadfence();
    }
    __syncthreads();
}

BUILT_IN int next_cell() { return (thread_in_grid() + blockDim.x) % (gridDim.x * blockDim.x); }

KERNEL grid_barrier_twice(int *data, int *count, int *y) {
    data[thread_in_grid()] = threadIdx.x;
    grid_barrier(count, gridDim.x);
    int value = data[next_cell()];
    grid_barrier(count, 2 * gridDim.x);
    data[thread_in_grid()] = value;
}

// The count of the first barrier is enough for the second.
KERNEL grid_barrier_that_stays_open(int *data, int *count, int *y) {
    data[thread_in_grid()] = thread_in_grid();
    grid_barrier(count, gridDim.x);
    int value = data[next_cell()];
    grid_barrier(count, gridDim.x);
    data[thread_in_grid()] = value; // RACE grid_barrier_that_stays_open
}

KERNEL grid_barrier_of_too_few_blocks(int *data, int *count, int *y) {
    data[thread_in_grid()] = threadIdx.x; // RACE grid_barrier_of_too_few_blocks
    grid_barrier(count, gridDim.x - 1);
    y[thread_in_grid()] = data[next_cell()];
}

KERNEL grid_barrier_of_too_many_blocks(int *data, int *count, int *y) {
    data[thread_in_grid()] = threadIdx.x;
    grid_barrier(count, gridDim.x + 1); // WAITS grid_barrier_of_too_many_blocks
    y[thread_in_grid()] = data[next_cell()];
}

KERNEL grid_barrier_without_a_cooperative_launch(int *data, int *count, int *y) {
    data[thread_in_grid()] = threadIdx.x;
    grid_barrier(count, gridDim.x); // WAITS grid_barrier_without_a_cooperative_launch
    y[thread_in_grid()] = data[next_cell()];
}

KERNEL grid_barrier_that_one_block_skips(int *data, int *count, int *y) {
    data[thread_in_grid()] = threadIdx.x;
    if (blockIdx.x == 1) return;
    grid_barrier(count, gridDim.x); // WAITS grid_barrier_that_one_block_skips
    y[thread_in_grid()] = 1;
}

KERNEL grid_barrier_without_fences(int *data, int *count, int *y) {
    data[thread_in_grid()] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x) {}
    }
    __syncthreads();
    y[thread_in_grid()] = data[next_cell()]; // RACE grid_barrier_without_fences
}

KERNEL grid_barrier_without_the_first_barrier(int *data, int *count, int *y) {
    data[thread_in_grid()] = threadIdx.x;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    y[thread_in_grid()] = data[next_cell()]; // RACE grid_barrier_without_the_first_barrier
}

KERNEL grid_barrier_without_the_last_barrier(int *data, int *count, int *y) {
    data[thread_in_grid()] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x) {}
        __threadfence();
    }
    y[thread_in_grid()] = data[next_cell()]; // RACE grid_barrier_without_the_last_barrier
}

// The last block resets the count before the others have seen it.
KERNEL grid_barrier_reset_too_early(int *data, int *count, int *y) {
    data[thread_in_grid()] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(count, 1) == gridDim.x - 1) {
            atomicExch(count, 0);
        } else {
            while (atomicAdd(count, 0) != gridDim.x) {} // WAITS grid_barrier_reset_too_early
        }
        __threadfence();
    }
    __syncthreads();
    y[thread_in_grid()] = data[next_cell()];
}

KERNEL grid_barrier_with_a_generation(int *data, int *count, int *generation, int *y) {
    for (int round = 0; round < 3; round++) {
        data[round % 2 * gridDim.x + blockIdx.x] = round;
        int before = load_relaxed(generation);
        fence_acq_rel();
        if (atomicAdd(count, 1) == gridDim.x - 1) {
            atomicExch(count, 0);
            fence_acq_rel();
            atomicAdd(generation, 1);
        } else {
            while (load_relaxed(generation) == before) {}
        }
        fence_acq_rel();
        y[blockIdx.x] = data[round % 2 * gridDim.x + (blockIdx.x + 1) % gridDim.x];
    }
}

// A block may be two rounds ahead of a reader.
KERNEL grid_barrier_with_one_buffer(int *data, int *count, int *generation, int *y) {
    for (int round = 0; round < 3; round++) {
        data[blockIdx.x] = round; // RACE grid_barrier_with_one_buffer
        int before = load_relaxed(generation);
        fence_acq_rel();
        if (atomicAdd(count, 1) == gridDim.x - 1) {
            atomicExch(count, 0);
            fence_acq_rel();
            atomicAdd(generation, 1);
        } else {
            while (load_relaxed(generation) == before) {}
        }
        fence_acq_rel();
        y[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
    }
}

// The generation is read after the arrival, when it may already be the next one.
KERNEL grid_barrier_that_reads_the_generation_late(int *data, int *count, int *generation, int *y) {
    fence_acq_rel();
    if (atomicAdd(count, 1) == gridDim.x - 1) {
        atomicExch(count, 0);
        fence_acq_rel();
        atomicAdd(generation, 1);
    } else {
        int before = load_relaxed(generation);
        while (load_relaxed(generation) == before) {} // WAITS grid_barrier_that_reads_the_generation_late
    }
    fence_acq_rel();
    y[blockIdx.x] = 1;
}
