//! Bugs around the grid barrier, in cooperative launches: a GPU gives arbitrary results or hangs.

use cuda_std::{GlobalMut, grid, kernel, thread, warp};

/// The file of the kernels, as the compiler names it in locations. In [`PTX`](crate::PTX) it is
/// `seeded_bugs/src/cooperative.rs`.
#[cfg(not(target_arch = "nvptx64"))]
pub const FILE: &str = file!();

/// The line of this file with the mark `name`, from 1. None if there is no such mark.
#[cfg(not(target_arch = "nvptx64"))]
pub fn marked_line(name: &str) -> Option<u32> {
    crate::line_with_mark(include_str!("cooperative.rs"), name)
}

/// A barrier is missing between the reads of a round and its writes.
#[kernel]
pub fn missing_grid_barrier(values: GlobalMut<u32>, barrier: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    for _ in 0..3 {
        let next = values.get((i + 1) % values.len());
        values.set(i, next); // shows: missing_grid_barrier
        grid::sync(barrier);
    }
}

/// Correct in its first two epochs; in the third, two blocks write one element.
#[kernel]
pub fn race_in_a_later_epoch(values: GlobalMut<u32>, barrier: GlobalMut<u32>) {
    let block = thread::block_idx_x() as usize;
    for round in 0..2 {
        values.set((block + round) % values.len(), 1);
        grid::sync(barrier);
    }
    values.set(block / 2, 2); // shows: race_in_a_later_epoch
}

/// Uses a block barrier where a grid barrier is needed.
#[kernel]
pub fn barrier_of_the_block(values: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    values.set(i, 1); // shows: barrier_of_the_block
    thread::sync_threads();
    out.set(i, values.get((i + 1) % values.len()));
}

/// The last block has no elements and returns before the barrier.
#[kernel]
pub fn block_that_returns(elements: u32, barrier: GlobalMut<u32>) {
    if thread::block_idx_x() * thread::block_dim_x() >= elements {
        return;
    }
    grid::sync(barrier); // shows: block_that_returns
}

/// The first block runs one round more than the others.
#[kernel]
pub fn one_round_more(barrier: GlobalMut<u32>) {
    let rounds = if thread::block_idx_x() == 0 { 3 } else { 2 };
    for _ in 0..rounds {
        grid::sync(barrier); // shows: one_round_more
    }
}

/// Blocks wait at two different barriers.
#[kernel]
pub fn two_grid_barriers(barrier: GlobalMut<u32>) {
    if thread::block_idx_x() < 2 {
        grid::sync(barrier); // shows: first_grid_barrier
    } else {
        grid::sync(barrier); // shows: two_grid_barriers
    }
}

/// Blocks use two different barrier states, so that neither barrier is ever complete.
#[kernel]
pub fn two_states(a: GlobalMut<u32>, b: GlobalMut<u32>) {
    grid::sync(if thread::block_idx_x() == 0 { a } else { b }); // shows: two_states
}

/// Threads beyond the elements return before the barrier, at which the others of their block wait.
#[kernel]
pub fn threads_that_return(elements: u32, barrier: GlobalMut<u32>) {
    if thread::index_1d() >= elements {
        return;
    }
    grid::sync(barrier); // shows: threads_that_return
}

/// Half of the threads wait at a block barrier, half at the grid barrier.
#[kernel]
pub fn block_or_grid(barrier: GlobalMut<u32>) {
    if thread::thread_idx_x() < 16 {
        thread::sync_threads(); // shows: waits_for_the_block
    } else {
        grid::sync(barrier); // shows: block_or_grid
    }
}

/// One lane waits at a ballot of its warp, the others at the grid barrier.
#[kernel]
pub fn warp_or_grid(barrier: GlobalMut<u32>) {
    if thread::thread_idx_x() == 3 {
        warp::ballot(true); // shows: warp_or_grid
    }
    grid::sync(barrier);
}

/// Correct if the launch is cooperative and the state is zero.
#[kernel]
pub fn waits(barrier: GlobalMut<u32>) {
    grid::sync(barrier); // shows: waits
}

/// Writes to the barrier's state.
#[kernel]
pub fn writes_the_state(barrier: GlobalMut<u32>) {
    for _ in 0..2 {
        grid::sync(barrier); // shows: writes_the_state
        if thread::index_1d() == 1 {
            barrier.atomic(0).fetch_add(1);
        }
    }
}

/// Divides by zero in the last block, after a barrier.
#[kernel]
pub fn panics_after_the_barrier(barrier: GlobalMut<u32>, out: GlobalMut<u32>) {
    grid::sync(barrier);
    let left = thread::grid_dim_x() - 1 - thread::block_idx_x();
    out.set(thread::index_1d() as usize, 100 / left); // shows: panics_after_the_barrier
}
