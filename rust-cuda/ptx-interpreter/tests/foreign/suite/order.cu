// Atomic operations, scopes, fences, volatile accesses, flags, messages, tickets and reductions by the last block.
// tests/foreign/suite/order.rs has the launches and the labels.
#include "suite.h"

// Counters.

KERNEL counter_of_plain_additions(int *count) {
    *count = *count + 1; // RACE counter_of_plain_additions
}

KERNEL counter_of_volatile_additions(volatile int *count) {
    *count = *count + 1; // RACE counter_of_volatile_additions
}

KERNEL counter_of_atomic_additions(int *count) { atomicAdd(count, 1); }

KERNEL volatile_stores_of_different_values(volatile int *p) {
    *p = thread_in_grid(); // RACE volatile_stores_of_different_values
}

KERNEL volatile_stores_of_one_value(volatile int *p) {
    *p = 7; // SAME volatile_stores_of_one_value
}

KERNEL volatile_stores_to_own_cells(volatile int *p) { p[thread_in_grid()] = thread_in_grid(); }

KERNEL atomic_addition_and_plain_read(int *count, int *y) {
    atomicAdd(count, 1);
    y[thread_in_grid()] = *count; // RACE atomic_addition_and_plain_read
}

KERNEL atomic_addition_and_read_after_a_barrier(int *counts, int *y) {
    atomicAdd(&counts[blockIdx.x], 1);
    __syncthreads();
    y[thread_in_grid()] = counts[blockIdx.x];
}

KERNEL atomic_addition_of_all_and_read_after_a_barrier(int *count, int *y) {
    atomicAdd(count, 1);
    __syncthreads();
    y[thread_in_grid()] = *count; // RACE atomic_addition_of_all_and_read_after_a_barrier
}

KERNEL atomic_maximum(const int *x, int *largest) { atomicMax(largest, x[thread_in_grid()]); }

KERNEL maximum_after_a_plain_look(const int *x, int *largest) {
    if (x[thread_in_grid()] > *largest) atomicMax(largest, x[thread_in_grid()]); // RACE maximum_after_a_plain_look
}

KERNEL maximum_after_a_volatile_look(const int *x, int *largest) {
    if (x[thread_in_grid()] > *(volatile int *)largest) atomicMax(largest, x[thread_in_grid()]); // RACE maximum_after_a_volatile_look
}

KERNEL maximum_by_compare_and_swap(const int *x, int *largest) {
    int value = x[thread_in_grid()], old = atomicAdd(largest, 0);
    while (old < value) {
        int found = atomicCAS(largest, old, value);
        if (found == old) break;
        old = found;
    }
}

KERNEL maximum_by_compare_and_swap_from_a_plain_read(const int *x, int *largest) {
    int value = x[thread_in_grid()], old = *largest; // RACE maximum_by_compare_and_swap_from_a_plain_read
    while (old < value) {
        int found = atomicCAS(largest, old, value);
        if (found == old) break;
        old = found;
    }
}

KERNEL slots_by_an_atomic_counter(const int *x, int *count, int *y) {
    int value = x[thread_in_grid()];
    if (value > 0) y[atomicAdd(count, 1)] = value;
}

KERNEL slots_used_twice(const int *x, int *count, int *y) {
    y[atomicAdd(count, 1) % 96] = thread_in_grid(); // RACE slots_used_twice
}

KERNEL slots_by_a_plain_counter(const int *x, int *count, int *y) {
    int slot = *count; // RACE slots_by_a_plain_counter
    *count = slot + 1;
    y[slot] = x[thread_in_grid()];
}

KERNEL slots_by_an_atomic_counter_of_the_block(const int *x, int *y) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    int slot = atomicAdd_block(&count, 1);
    y[blockIdx.x * blockDim.x + slot] = x[thread_in_grid()];
}

KERNEL counter_reset_by_a_plain_store(int *count) {
    if (thread_in_grid() == 0) *count = 0; // RACE counter_reset_by_a_plain_store
    atomicAdd(count, 1);
}

KERNEL counter_reset_by_an_exchange(int *count) {
    if (thread_in_grid() == 0) atomicExch(count, 0);
    atomicAdd(count, 1);
}

KERNEL atomic_additions_of_two_cells(u64 *counts) {
    if (threadIdx.x == 0) atomicAdd(&counts[0], 1ull);
    else atomicAdd((int *)&counts[1], 1);
}

// Operations that overlap in part are not atomic with respect to each other.
KERNEL atomic_additions_of_different_sizes(u64 *count) {
    if (threadIdx.x == 0) atomicAdd(count, 1ull);
    else atomicAdd((int *)count, 1); // RACE atomic_additions_of_different_sizes
}

KERNEL atomic_addition_to_half_of_what_is_read(int *counts, u64 *y) {
    if (threadIdx.x == 0) atomicAdd(&counts[1], 1);
    else y[threadIdx.x] = *(u64 *)counts; // RACE atomic_addition_to_half_of_what_is_read
}

KERNEL read_only_load_of_what_no_thread_writes(const int *x, int *y) {
    y[thread_in_grid()] = load_read_only(&x[127 - thread_in_grid()]);
}

KERNEL read_only_load_of_what_another_thread_writes(int *x) {
    if (threadIdx.x == 0) x[0] = 1;
    else x[thread_in_grid() + 1] = load_read_only(&x[0]); // RACE read_only_load_of_what_another_thread_writes
}

// The memory of a read-only load must not be written during the kernel, not even before a barrier.
KERNEL read_only_load_after_a_barrier(int *x, int *y) {
    x[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = load_read_only(&x[63 - threadIdx.x]); // RACE read_only_load_after_a_barrier
}

// Scopes.

KERNEL additions_of_scope_block_in_own_cells(int *counts) { atomicAdd_block(&counts[blockIdx.x], 1); }

KERNEL additions_of_scope_block_of_two_blocks(int *count) {
    atomicAdd_block(count, 1); // RACE additions_of_scope_block_of_two_blocks
}

KERNEL additions_of_scope_block_and_device(int *count) {
    if (blockIdx.x == 0) atomicAdd(count, 1);
    else atomicAdd_block(count, 1); // RACE additions_of_scope_block_and_device
}

KERNEL additions_of_scope_system(int *count) { atomicAdd_system(count, 1); }

KERNEL message_fenced_for_the_block(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence_block();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *y = *box; // RACE message_fenced_for_the_block
    }
}

KERNEL message_received_for_the_block(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence_block();
        *y = *box; // RACE message_received_for_the_block
    }
}

KERNEL message_within_a_block(int *box, int *flag, int *y) {
    if (threadIdx.x == 0) {
        *box = 42;
        __threadfence_block();
        atomicExch_block(flag, 1);
    } else if (threadIdx.x == 32) {
        while (atomicAdd_block(flag, 0) == 0) {}
        __threadfence_block();
        *y = *box;
    }
}

KERNEL message_within_a_block_without_a_fence(int *box, int *flag, int *y) {
    if (threadIdx.x == 0) {
        *box = 42;
        atomicExch_block(flag, 1);
    } else if (threadIdx.x == 32) {
        while (atomicAdd_block(flag, 0) == 0) {}
        __threadfence_block();
        *y = *box; // RACE message_within_a_block_without_a_fence
    }
}

KERNEL message_fenced_for_the_system(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence_system();
        atomicExch_system(flag, 1);
    } else {
        while (atomicAdd_system(flag, 0) == 0) {}
        __threadfence_system();
        *y = *box;
    }
}

KERNEL flag_released_for_the_block(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        store_release_block(flag, 1);
    } else {
        while (load_acquire(flag) == 0) {} // RACE flag_released_for_the_block
        *y = *box;
    }
}

KERNEL flag_acquired_for_the_block(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        store_release(flag, 1);
    } else {
        while (load_acquire_block(flag) == 0) {} // RACE flag_acquired_for_the_block
        *y = *box;
    }
}

KERNEL flag_of_scope_block_within_a_block(int *box, int *flag, int *y) {
    if (threadIdx.x == 32) {
        *box = 42;
        store_release_block(flag, 1);
    } else if (threadIdx.x == 0) {
        while (load_acquire_block(flag) == 0) {}
        *y = *box;
    }
}

// Messages: block 0 fills a box and raises a flag, block 1 waits for it.

KERNEL message_with_fences(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *y = *box;
    }
}

KERNEL message_without_the_writers_fence(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *y = *box; // RACE message_without_the_writers_fence
    }
}

KERNEL message_without_the_readers_fence(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        *y = *box; // RACE message_without_the_readers_fence
    }
}

KERNEL message_with_the_fence_before_the_box(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        __threadfence();
        *box = 42;
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *y = *box; // RACE message_with_the_fence_before_the_box
    }
}

KERNEL message_with_the_fence_before_the_wait(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        __threadfence();
        while (atomicAdd(flag, 0) == 0) {}
        *y = *box; // RACE message_with_the_fence_before_the_wait
    }
}

KERNEL message_released_and_acquired(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        store_release(flag, 1);
    } else {
        while (load_acquire(flag) == 0) {}
        *y = *box;
    }
}

KERNEL message_by_relaxed_accesses(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        store_relaxed(flag, 1);
    } else {
        while (load_relaxed(flag) == 0) {}
        *y = *box; // RACE message_by_relaxed_accesses
    }
}

KERNEL message_by_relaxed_accesses_with_fences(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        fence_acq_rel();
        store_relaxed(flag, 1);
    } else {
        while (load_relaxed(flag) == 0) {}
        fence_acq_rel();
        *y = *box;
    }
}

KERNEL message_released_and_not_acquired(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        store_release(flag, 1);
    } else {
        while (load_relaxed(flag) == 0) {}
        *y = *box; // RACE message_released_and_not_acquired
    }
}

KERNEL message_acquired_and_not_released(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        store_relaxed(flag, 1);
    } else {
        while (load_acquire(flag) == 0) {}
        *y = *box; // RACE message_acquired_and_not_released
    }
}

KERNEL message_released_before_it_is_complete(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        box[0] = 42;
        store_release(flag, 1);
        box[1] = 43;
    } else {
        while (load_acquire(flag) == 0) {}
        *y = box[0] + box[1]; // RACE message_released_before_it_is_complete
    }
}

KERNEL message_read_before_the_wait(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        store_release(flag, 1);
    } else {
        int value = *box; // RACE message_read_before_the_wait
        while (load_acquire(flag) == 0) {}
        *y = value;
    }
}

KERNEL message_by_a_plain_flag(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence();
        store_plain(flag, 1);
    } else {
        while (load_plain(flag) == 0) {} // RACE message_by_a_plain_flag
        __threadfence();
        *y = *box;
    }
}

KERNEL message_over_two_hops(int *box, int *flags, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        store_release(&flags[0], 1);
    } else if (blockIdx.x == 1) {
        while (load_acquire(&flags[0]) == 0) {}
        store_release(&flags[1], 1);
    } else {
        while (load_acquire(&flags[1]) == 0) {}
        *y = *box;
    }
}

KERNEL message_over_a_relaxed_hop(int *box, int *flags, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        store_release(&flags[0], 1);
    } else if (blockIdx.x == 1) {
        while (load_relaxed(&flags[0]) == 0) {}
        store_release(&flags[1], 1);
    } else {
        while (load_acquire(&flags[1]) == 0) {}
        *y = *box; // RACE message_over_a_relaxed_hop
    }
}

KERNEL message_over_two_atomic_hops(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence();
        atomicAdd(flag, 1);
    } else if (blockIdx.x == 1) {
        atomicAdd(flag, 1);
    } else {
        while (atomicAdd(flag, 0) != 2) {}
        __threadfence();
        *y = *box;
    }
}

// The store begins another release sequence, which does not publish the box.
KERNEL message_overwritten(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else if (blockIdx.x == 1) {
        *(volatile int *)flag = 2;
    } else {
        while (*(volatile int *)flag != 2) {}
        __threadfence();
        *y = *box; // RACE message_overwritten
    }
}

KERNEL message_of_a_block(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        box[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (threadIdx.x == 0) {
            while (atomicAdd(flag, 0) == 0) {}
            __threadfence();
        }
        __syncthreads();
        y[threadIdx.x] = box[63 - threadIdx.x];
    }
}

KERNEL message_of_a_block_without_the_writers_barrier(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        box[threadIdx.x] = threadIdx.x;
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (threadIdx.x == 0) {
            while (atomicAdd(flag, 0) == 0) {}
            __threadfence();
        }
        __syncthreads();
        y[threadIdx.x] = box[63 - threadIdx.x]; // RACE message_of_a_block_without_the_writers_barrier
    }
}

KERNEL message_of_a_block_without_the_readers_barrier(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        box[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (threadIdx.x == 0) {
            while (atomicAdd(flag, 0) == 0) {}
            __threadfence();
        }
        y[threadIdx.x] = box[63 - threadIdx.x]; // RACE message_of_a_block_without_the_readers_barrier
    }
}

KERNEL messages_of_each_thread(int *box, int *flags, int *y) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        box[t] = t;
        store_release(&flags[t], 1);
    } else {
        while (load_acquire(&flags[t]) == 0) {}
        y[t] = box[t];
    }
}

KERNEL messages_of_the_other_thread(int *box, int *flags, int *y) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        box[t] = t;
        store_release(&flags[t], 1);
    } else {
        while (load_acquire(&flags[t]) == 0) {}
        y[t] = box[t ^ 1]; // RACE messages_of_the_other_thread
    }
}

KERNEL message_of_the_warp_that_has_not_been_waited_for(int *box, int *flags, int *y) {
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            box[0] = 1;
            __threadfence();
            atomicExch(&flags[0], 1);
        }
        if (threadIdx.x == 32) {
            box[1] = 2;
            __threadfence();
            atomicExch(&flags[1], 1);
        }
    } else if (threadIdx.x == 0) {
        while (atomicAdd(&flags[1], 0) == 0) {}
        __threadfence();
        *y = box[0]; // RACE message_of_the_warp_that_has_not_been_waited_for
    }
}

// Volatile accesses.

KERNEL volatile_box_and_flag(volatile int *box, volatile int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        *flag = 1;
    } else {
        while (*flag == 0) {} // RACE volatile_box_and_flag
        *y = *box;
    }
}

KERNEL plain_box_and_volatile_flag(int *box, volatile int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        *flag = 1;
    } else {
        while (*flag == 0) {}
        *y = *box; // RACE plain_box_and_volatile_flag
    }
}

KERNEL plain_box_and_volatile_flag_with_fences(int *box, volatile int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) {}
        __threadfence();
        *y = *box;
    }
}

KERNEL volatile_box_read_plainly(int *box, volatile int *flag, int *y) {
    if (blockIdx.x == 0) {
        *(volatile int *)box = 42;
        *flag = 1;
    } else {
        while (*flag == 0) {}
        *y = *box; // RACE volatile_box_read_plainly
    }
}

KERNEL volatile_look_at_an_atomic_counter(int *count, int *y) {
    atomicAdd(count, 1);
    if (threadIdx.x == 0) {
        while (*(volatile int *)count < 64) {}
        *y = 1;
    }
}

KERNEL volatile_look_at_a_plain_store(int *flag, int *y) {
    if (threadIdx.x == 0) {
        while (*(volatile int *)flag == 0) {} // RACE volatile_look_at_a_plain_store
        *y = 1;
    } else if (threadIdx.x == 32) {
        *flag = 1;
    }
}

KERNEL volatile_flag_that_two_answer(volatile int *flag, int *y) {
    if (blockIdx.x != 0) *flag = blockIdx.x; // RACE volatile_flag_that_two_answer
    else while (*flag == 0) {}
}

KERNEL volatile_flag_by_turns(int *box, volatile int *flag) {
    if (blockIdx.x == 0) {
        *box = 42;
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) {}
        __threadfence();
        *box += 1;
        __threadfence();
        *flag = 2;
    }
}

// Handshakes: both blocks are resident.

KERNEL handshake(int *box, int *flags, int *y, int n) {
    if (blockIdx.x == 0) {
        for (int i = 1; i <= n; i++) {
            *box = i;
            store_release(&flags[0], i);
            while (load_acquire(&flags[1]) != i) {}
        }
    } else {
        int sum = 0;
        for (int i = 1; i <= n; i++) {
            while (load_acquire(&flags[0]) != i) {}
            sum += *box;
            store_release(&flags[1], i);
        }
        *y = sum;
    }
}

KERNEL handshake_without_the_answer(int *box, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *box = 1;
        store_release(flag, 1);
        *box = 2;
    } else {
        while (load_acquire(flag) == 0) {}
        *y = *box; // RACE handshake_without_the_answer
    }
}

KERNEL handshake_with_an_early_answer(int *box, int *flags, int *y) {
    if (blockIdx.x == 0) {
        *box = 1;
        store_release(&flags[0], 1);
        while (load_acquire(&flags[1]) == 0) {}
        *box = 2;
    } else {
        while (load_acquire(&flags[0]) == 0) {}
        store_release(&flags[1], 1);
        *y = *box; // RACE handshake_with_an_early_answer
    }
}

KERNEL handshake_with_a_relaxed_answer(int *box, int *flags, int *y) {
    if (blockIdx.x == 0) {
        *box = 1;
        store_release(&flags[0], 1);
        while (load_acquire(&flags[1]) == 0) {}
        *box = 2;
    } else {
        while (load_acquire(&flags[0]) == 0) {}
        *y = *box; // RACE handshake_with_a_relaxed_answer
        store_relaxed(&flags[1], 1);
    }
}

KERNEL ball_between_two_blocks(int *box, int *turn, int n) {
    for (int i = blockIdx.x; i < n; i += 2) {
        while (load_acquire(turn) != i) {}
        *box += i;
        store_release(turn, i + 1);
    }
}

KERNEL ball_that_is_not_acquired(int *box, int *turn, int n) {
    for (int i = blockIdx.x; i < n; i += 2) {
        while (load_relaxed(turn) != i) {}
        *box += i; // RACE ball_that_is_not_acquired
        store_release(turn, i + 1);
    }
}

KERNEL ball_that_is_passed_too_early(int *box, int *turn, int n) {
    for (int i = blockIdx.x; i < n; i += 2) {
        while (load_acquire(turn) != i) {}
        store_release(turn, i + 1);
        *box += i; // RACE ball_that_is_passed_too_early
    }
}

KERNEL ring_of_slots(int *slots, int *filled, int *emptied, int *y, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (blockIdx.x == 0) {
            while (i >= load_acquire(emptied) + 2) {}
            slots[i % 2] = i;
            store_release(filled, i + 1);
        } else {
            while (load_acquire(filled) <= i) {}
            sum += slots[i % 2];
            store_release(emptied, i + 1);
        }
    }
    if (blockIdx.x == 1) *y = sum;
}

// The writer fills one slot more than the ring has.
KERNEL ring_with_a_slot_too_few(int *slots, int *filled, int *emptied, int *y, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (blockIdx.x == 0) {
            while (i >= load_acquire(emptied) + 3) {}
            slots[i % 2] = i; // RACE ring_with_a_slot_too_few
            store_release(filled, i + 1);
        } else {
            while (load_acquire(filled) <= i) {}
            sum += slots[i % 2];
            store_release(emptied, i + 1);
        }
    }
    if (blockIdx.x == 1) *y = sum;
}

// Looks once, without a wait.

KERNEL look_of_block_0_at_block_1(int *data, int *flag, int *y) {
    if (blockIdx.x == 1) {
        *data = 7;
        atomicExch(flag, 1);
    } else if (atomicAdd(flag, 0) == 1) {
        *y = *data; // RACE look_of_block_0_at_block_1
    }
}

KERNEL look_of_block_1_at_block_0(int *data, int *flag, int *y) {
    if (blockIdx.x == 0) {
        *data = 7;
        atomicExch(flag, 1);
    } else if (atomicAdd(flag, 0) == 1) {
        *y = *data; // RACE look_of_block_1_at_block_0
    }
}

KERNEL look_with_fences(int *data, int *flag, int *y) {
    if (blockIdx.x == 1) {
        *data = 7;
        __threadfence();
        atomicExch(flag, 1);
    } else if (atomicAdd(flag, 0) == 1) {
        __threadfence();
        *y = *data;
    }
}

// Each of two blocks looks at the other's flag; who sees it down writes.
KERNEL flags_raised_after_the_look(int *flags, int *y) {
    int me = blockIdx.x, other = 1 - me;
    bool is_down = atomicAdd(&flags[other], 0) == 0;
    atomicExch(&flags[me], 1);
    if (is_down) *y = me; // RACE flags_raised_after_the_look
}

KERNEL flags_raised_before_the_look(int *flags, int *y) {
    int me = blockIdx.x, other = 1 - me;
    atomicExch(&flags[me], 1);
    __threadfence();
    if (atomicAdd(&flags[other], 0) == 0) *y = me;
}

KERNEL early_birds(int *flag, int *y) {
    int i = thread_in_grid();
    if (i == 0) atomicAdd(flag, 1);
    else if (atomicAdd(flag, 0) == 0) *y = i; // RACE early_birds
}

// Thread 0 raises the flag; threads of the second warp that see it down write.
KERNEL early_birds_of_the_second_warp(int *flag, int *y) {
    int i = threadIdx.x;
    if (i == 0) atomicAdd(flag, 1);
    else if (i >= 32 && atomicAdd(flag, 0) == 0) *y = i; // RACE early_birds_of_the_second_warp
}

KERNEL one_early_bird(int *flag, int *y) {
    if (atomicExch(flag, 1) == 0) *y = thread_in_grid();
}

// Readers and a late writer.

KERNEL all_readers_release(int *data, int *y, int *count, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t >= n) return;
        y[t] = *data;
        __threadfence();
        atomicAdd(count, 1);
    } else if (t == 0) {
        while (atomicAdd(count, 0) < n) {}
        __threadfence();
        *data = 1;
    }
}

KERNEL one_reader_of_four_does_not_release(int *data, int *y, int *count, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t >= n) return;
        y[t] = *data;
        __threadfence();
        if (t != 0) atomicAdd(count, 1);
    } else if (t == 0) {
        while (atomicAdd(count, 0) < n - 1) {}
        __threadfence();
        *data = 1; // RACE one_reader_of_four_does_not_release
    }
}

KERNEL one_reader_of_a_warp_does_not_release(int *data, int *y, int *count, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t >= n) return;
        y[t] = *data;
        __threadfence();
        if (t != 0) atomicAdd(count, 1);
    } else if (t == 0) {
        while (atomicAdd(count, 0) < n - 1) {}
        __threadfence();
        *data = 1; // RACE one_reader_of_a_warp_does_not_release
    }
}

KERNEL one_reader_of_two_warps_does_not_release(int *data, int *y, int *count, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t >= n) return;
        y[t] = *data;
        __threadfence();
        if (t != 0) atomicAdd(count, 1);
    } else if (t == 0) {
        while (atomicAdd(count, 0) < n - 1) {}
        __threadfence();
        *data = 1; // RACE one_reader_of_two_warps_does_not_release
    }
}

KERNEL readers_of_one_block_and_a_writer_of_another(int *data, int *y) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        y[t] = data[0];
        __syncthreads();
    } else if (t == 0) {
        data[0] = 1; // RACE readers_of_one_block_and_a_writer_of_another
    }
}

// Tickets, and reductions by the last block.

KERNEL last_block_adds_up(const int *x, int *partial, unsigned *tickets, int *sum) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1) {
        __threadfence();
        int all = 0;
        for (int block = 0; block < gridDim.x; block++) all += partial[block];
        *sum = all;
    }
}

KERNEL last_block_without_fences(const int *x, int *partial, unsigned *tickets, int *sum) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = x[blockIdx.x];
    if (atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1) {
        int all = 0;
        for (int block = 0; block < gridDim.x; block++) all += partial[block]; // RACE last_block_without_fences
        *sum = all;
    }
}

KERNEL last_block_without_its_fence(const int *x, int *partial, unsigned *tickets, int *sum) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1) {
        int all = 0;
        for (int block = 0; block < gridDim.x; block++) all += partial[block]; // NOTE last_block_without_its_fence
        *sum = all;
    }
}

KERNEL last_block_of_all_threads(const int *x, int *partial, unsigned *tickets, int *y) {
    __shared__ int is_last;
    partial[thread_in_grid()] = x[thread_in_grid()];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (load_plain(&is_last)) {
        int all = 0;
        for (int i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x) all += partial[i];
        y[threadIdx.x] = all;
    }
}

// Sequentially consistent fences on both sides order the writes too: the other order of a writer's fence and a reader's
// would contradict the tickets.
KERNEL last_block_with_a_fence_of_each_thread(const int *x, int *partial, unsigned *tickets, int *y) {
    __shared__ int is_last;
    partial[thread_in_grid()] = x[thread_in_grid()];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (load_plain(&is_last)) {
        __threadfence();
        int all = 0;
        for (int i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x) all += partial[i];
        y[threadIdx.x] = all;
    }
}

// Other threads of the block may not have written when thread 0 takes the ticket.
KERNEL last_block_without_the_barrier_before_the_ticket(const int *x, int *partial, unsigned *tickets, int *y) {
    __shared__ int is_last;
    partial[thread_in_grid()] = x[thread_in_grid()];
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (load_plain(&is_last)) {
        int all = 0;
        for (int i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x)
            all += partial[i]; // RACE last_block_without_the_barrier_before_the_ticket
        y[threadIdx.x] = all;
    }
}

KERNEL last_block_without_the_barrier_after_the_ticket(const int *x, int *partial, unsigned *tickets, int *y) {
    __shared__ int is_last;
    partial[thread_in_grid()] = x[thread_in_grid()];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1; // RACE last_block_without_the_barrier_after_the_ticket
    if (load_plain(&is_last)) {
        __threadfence();
        y[threadIdx.x] = partial[63 - threadIdx.x];
    }
}

KERNEL last_block_but_one_adds_up(const int *x, int *partial, unsigned *tickets, int *sum) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (atomicInc(tickets, gridDim.x - 1) == gridDim.x - 2) {
        __threadfence();
        int all = 0;
        for (int block = 0; block < gridDim.x; block++) all += partial[block]; // RACE last_block_but_one_adds_up
        *sum = all;
    }
}

KERNEL block_0_adds_up_without_a_ticket(const int *x, int *partial, int *sum) {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (blockIdx.x == 0) {
        int all = 0;
        for (int block = 0; block < gridDim.x; block++) all += partial[block]; // RACE block_0_adds_up_without_a_ticket
        *sum = all;
    }
}

KERNEL work_by_tickets(int *next, int *y, int n) {
    for (int i = atomicAdd(next, 1); i < n; i = atomicAdd(next, 1)) y[i] = thread_in_grid();
}

KERNEL work_by_plain_tickets(int *next, int *y, int n) {
    for (int i = load_plain(next); i < n; i = load_plain(next)) { // RACE work_by_plain_tickets
        store_plain(next, i + 1);
        y[i] = thread_in_grid();
    }
}
