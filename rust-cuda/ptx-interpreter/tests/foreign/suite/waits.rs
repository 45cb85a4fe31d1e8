//! Locks, deadlocks, waits for other threads and blocks, and barriers of the grid.

use super::Shows::{Descending, Searched};
use super::{Argument, Buffer, Case, Ints, check, out, race, right, waits, x, zeros};

/// Shapes with one thread per block, and with one and two warps. Kernels in which lanes alternate
/// by time slices have few lanes.
const TWO: (u32, u32) = (2, 1);
const THREE: (u32, u32) = (3, 1);
const FOUR: (u32, u32) = (4, 1);
const WARP: (u32, u32) = (1, 32);
const LANES: (u32, u32) = (1, 2);
const WARPS: (u32, u32) = (1, 64);

fn ones_and_a_zero() -> Argument {
    Buffer(Ints(vec![1, 0, 1, 1]))
}

fn locks() -> Vec<Case> {
    let lock = [zeros(1), zeros(1)];
    let ticket = [zeros(1), zeros(1), zeros(1)];
    let readers = [zeros(1), zeros(1), out(4)];
    vec![
        right("lock_with_fences", FOUR, lock.clone()),
        race("lock_without_fences", FOUR, lock.clone()),
        race("lock_without_the_first_fence", FOUR, lock.clone()),
        race("lock_without_the_second_fence", FOUR, lock.clone()),
        race("lock_whose_first_owner_has_no_fence", FOUR, lock.clone()).shows(Descending),
        race("lock_whose_second_owner_has_no_fence", FOUR, lock.clone()),
        race("lock_opened_by_a_plain_store", FOUR, lock.clone()),
        right("lock_opened_by_a_volatile_store", FOUR, lock.clone()),
        right("lock_opened_by_a_release", FOUR, lock.clone()),
        race("lock_of_scope_block_of_two_blocks", TWO, lock.clone()),
        right("lock_of_scope_block_of_two_warps", WARPS, lock.clone()),
        race("lock_of_each_block", FOUR, [zeros(4), zeros(1)]),
        right("lock_of_each_cell", FOUR, [x(4), zeros(2), zeros(2)]),
        race("read_outside_of_the_lock", FOUR, [zeros(1), zeros(1), out(4)]),
        race("write_before_the_lock", TWO, lock.clone()).shows(Descending),
        race("write_after_the_lock", TWO, lock.clone()),
        race("write_of_the_second_block_before_the_lock", TWO, lock.clone()),
        right("both_writes_under_the_lock", FOUR, lock.clone()),
        right("try_lock", FOUR, lock.clone()),
        race("try_lock_that_always_succeeds", FOUR, lock.clone()).shows(Searched),
        race("lock_by_look_and_store", TWO, lock).shows(Searched),
        right("ticket_lock", FOUR, ticket.clone()),
        race("ticket_lock_that_is_not_acquired", FOUR, ticket.clone()),
        race("ticket_lock_served_plainly", FOUR, ticket.clone()),
        race("ticket_lock_that_serves_two", FOUR, ticket),
        right("readers_and_a_writer", FOUR, readers.clone()),
        race("readers_and_a_hasty_writer", FOUR, readers),
    ]
}

fn deadlocks() -> Vec<Case> {
    let lock = [zeros(1), zeros(1)];
    vec![
        right("two_locks_in_one_order", TWO, [zeros(2), zeros(1)]),
        waits("two_locks_in_both_orders", TWO, [zeros(2), zeros(1)]).shows(Searched),
        waits("ring_of_three_locks", THREE, [zeros(3), zeros(3)]).shows(Searched),
        right("ring_of_three_locks_by_number", THREE, [zeros(3), zeros(3)]),
        right("two_locks_with_a_way_back", TWO, [zeros(2), zeros(1)]),
        waits("lock_that_stays_closed", TWO, lock.clone()),
        waits("lock_that_stays_closed_on_one_path", FOUR, [ones_and_a_zero(), zeros(1), zeros(1)]),
        waits("lock_taken_twice", (1, 1), lock.clone()),
        right("lock_of_lanes_within_the_loop", LANES, lock.clone()),
        right("lock_of_lanes_around_the_loop", LANES, lock.clone()),
        waits("lock_of_lanes_around_a_warp_barrier", WARP, lock.clone()),
        waits("lock_of_threads_around_a_barrier", WARPS, lock.clone()),
        right("lock_of_one_thread_around_a_barrier", (3, 64), lock),
        right("warp_that_waits_for_the_other", WARPS, [out(1)]),
        waits("warp_that_waits_for_no_other", WARPS, [out(1)]),
        waits("thread_that_waits_for_those_at_a_barrier", WARPS, [zeros(1), out(64)]),
        right("thread_that_waits_for_those_before_a_barrier", WARPS, [zeros(1), out(64)]),
        right("lane_that_waits_for_another", WARP, [zeros(1), out(1)]),
        waits("lane_that_waits_for_those_at_a_warp_barrier", WARP, [zeros(1), out(32)]),
        waits("lane_that_waits_for_a_higher_count", WARP, [zeros(1), out(32)]),
        right("lane_that_waits_for_the_count", WARP, [zeros(1), out(32)]),
        right("thread_that_waits_for_either_flag", WARPS, [zeros(2), out(1)]),
        waits("thread_that_waits_for_both_flags", WARPS, [zeros(2), out(1)]),
        right("poll_a_number_of_times", TWO, [zeros(1), out(2)]),
    ]
}

fn blocks() -> Vec<Case> {
    let flags = [zeros(4), out(4)];
    let sums = [x(4), zeros(4), zeros(4)];
    vec![
        right("wait_for_the_block_before", FOUR, flags.clone()),
        waits("wait_for_the_block_after", FOUR, flags.clone()),
        right("wait_for_the_block_after_in_a_cooperative_launch", FOUR, flags.clone()).cooperative(),
        waits("wait_in_a_circle", FOUR, flags).cooperative(),
        waits("wait_for_a_block_that_there_is_not", TWO, [zeros(4), out(2)]).cooperative(),
        waits("wait_for_a_volatile_flag_of_the_block_after", TWO, [zeros(1), out(1)]),
        right("chained_sums", FOUR, sums.clone()),
        race("chained_sums_by_relaxed_flags", FOUR, sums.clone()),
        waits("chained_sums_from_the_end", FOUR, sums.clone()),
        right("chained_sums_by_tickets", FOUR, [x(4), zeros(1), zeros(4), out(4)]),
        right("chained_sums_that_look_back", FOUR, [x(4), zeros(4), out(4)]),
        race("chained_sums_that_skip_a_flag", FOUR, sums),
    ]
}

fn grid_barriers() -> Vec<Case> {
    let grid = (3, 32);
    let data = [zeros(96), zeros(1), out(96)];
    let rounds = [zeros(6), zeros(1), zeros(1), out(3)];
    vec![
        right("grid_barrier_twice", grid, data.clone()).cooperative(),
        race("grid_barrier_that_stays_open", grid, data.clone()).cooperative(),
        race("grid_barrier_of_too_few_blocks", grid, data.clone()).cooperative(),
        waits("grid_barrier_of_too_many_blocks", grid, data.clone()).cooperative(),
        waits("grid_barrier_without_a_cooperative_launch", grid, data.clone()),
        waits("grid_barrier_that_one_block_skips", grid, data.clone()).cooperative(),
        race("grid_barrier_without_fences", grid, data.clone()).cooperative(),
        race("grid_barrier_without_the_first_barrier", grid, data.clone()).cooperative(),
        race("grid_barrier_without_the_last_barrier", grid, data.clone()).cooperative(),
        waits("grid_barrier_reset_too_early", grid, data).cooperative(),
        right("grid_barrier_with_a_generation", THREE, rounds.clone()).cooperative(),
        race("grid_barrier_with_one_buffer", THREE, rounds.clone()).cooperative(),
        waits("grid_barrier_that_reads_the_generation_late", THREE, rounds).cooperative().shows(Searched),
    ]
}

#[test]
fn each_kernel_on_waits_has_its_label() {
    let all = [locks(), deadlocks(), blocks(), grid_barriers()].into_iter().flatten();
    check("waits.cu", include_str!("waits.cu"), &all.collect::<Vec<_>>());
}
