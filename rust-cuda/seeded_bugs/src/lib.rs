//! Kernels with bugs that a GPU does not report: it gives wrong results, or hangs.
//!
//! Each kernel has one bug, and a comment `shows: name` marks the line that a tool which detects it should report. The
//! tests of the simulator and of other such tools run them, on the host and as [`PTX`].

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

use cuda_std::{GlobalMut, kernel, shared_array, thread, warp};

pub mod cooperative;

/// The kernels' PTX for each architecture, oldest first. A GPU runs the last one that is not newer than itself.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: [cuda_std::PtxVariant; 1] = cuda_std::compiled_kernels!("seeded_bugs");

/// The file of this module's kernels, as the compiler names it in locations. In [`PTX`] it is `seeded_bugs/src/lib.rs`.
#[cfg(not(target_arch = "nvptx64"))]
pub const FILE: &str = file!();

/// The line of its own mark, for the test of [`marked_line`].
#[cfg(not(target_arch = "nvptx64"))]
pub const LINE_OF_ITSELF: u32 = line!(); // shows: itself

/// The line of this file with the mark `name`, from 1. None if there is no such mark.
#[cfg(not(target_arch = "nvptx64"))]
pub fn marked_line(name: &str) -> Option<u32> {
    line_with_mark(include_str!("lib.rs"), name)
}

#[cfg(not(target_arch = "nvptx64"))]
fn line_with_mark(text: &str, name: &str) -> Option<u32> {
    let has_mark = |line: &str| line.rsplit_once("// shows: ").is_some_and(|(_, mark)| mark == name);
    text.lines().position(has_mark).map(|index| index as u32 + 1)
}

/// The bounds guard has `<=` instead of `<`.
#[kernel]
pub fn off_by_one(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i <= out.len() {
        out.set(
            i, x[i], // shows: off_by_one
        );
    }
}

/// Reads an element that another thread may not have written yet.
#[kernel]
pub fn missing_barrier(out: GlobalMut<u32>) {
    let values = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    values.set(t, t as u32);
    let neighbour = values.get((t + 64 - 1) % 64); // shows: missing_barrier
    thread::sync_threads();
    out.set(t, neighbour);
}

/// Overwrites a tile that other threads still read.
#[kernel]
pub fn missing_second_barrier(out: GlobalMut<u32>) {
    let values = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    for round in 0..2 {
        values.set(t, round); // shows: overwrote
        thread::sync_threads();
        out.set(t, values.get(63 - t)); // shows: missing_second_barrier
    }
}

/// Half of the threads do not reach the barrier.
#[kernel]
pub fn barrier_in_a_branch(out: GlobalMut<u32>) {
    let t = thread::thread_idx_x();
    if t % 2 == 1 {
        thread::sync_threads(); // shows: barrier_in_a_branch
    }
    out.set(t as usize, t);
}

/// The two halves of the threads wait at different barriers.
#[kernel]
pub fn two_barriers() {
    if thread::thread_idx_x() < 32 {
        thread::sync_threads(); // shows: first_barrier
    } else {
        thread::sync_threads(); // shows: two_barriers
    }
}

/// Swaps row and column in the index of out, which is `rows` × `columns` like x.
#[kernel]
pub fn swapped_index(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    let (row, column) = (thread::thread_idx_y(), thread::thread_idx_x());
    if row < rows && column < columns {
        let value = x[(row * columns + column) as usize];
        out.set((column * columns + row) as usize, value); // shows: swapped_index
    }
}

/// Sums more elements than the threads have written.
#[kernel]
pub fn unwritten_shared(out: GlobalMut<f32>) {
    let values = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    values.set(t, 1.0);
    thread::sync_threads();
    if t == 0 {
        let mut sum = 0.0;
        for i in 0..64 {
            sum += values.get(i); // shows: unwritten_shared
        }
        out.set(0, sum);
    }
}

/// Reads its output, which it assumes to be zero.
#[kernel]
pub fn accumulates_into_nothing(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    let old = out.get(i); // shows: accumulates_into_nothing
    out.set(i, old + x[i]);
}

/// Every block writes its sum to the same element.
#[kernel]
pub fn one_cell_for_all_blocks(out: GlobalMut<f32>) {
    if thread::thread_idx_x() == 0 {
        out.set(0, 1.0); // shows: one_cell_for_all_blocks
    }
}

/// Reads the element that the next block writes.
#[kernel]
pub fn reads_the_next_block(values: GlobalMut<f32>) {
    let block = thread::block_idx_x() as usize;
    let next = values.get((block + 1) % values.len());
    values.set(block, next); // shows: reads_the_next_block
}

/// The butterfly starts at the warp size instead of half of it.
#[kernel]
pub fn wrong_lane(out: GlobalMut<u32>) {
    let t = thread::thread_idx_x();
    let mut distance = 32;
    let mut sum = t;
    while distance > 0 {
        sum += warp::shuffle_xor(sum, distance); // shows: wrong_lane
        distance /= 2;
    }
    out.set(t as usize, sum);
}

/// Some lanes return before a reduction of the whole warp.
#[kernel]
pub fn lanes_that_left(out: GlobalMut<u32>) {
    let t = thread::thread_idx_x();
    if t >= 20 {
        return;
    }
    out.set(t as usize, warp::reduce_add(1u32)); // shows: lanes_that_left
}

/// Divides by a divisor that may be zero.
#[kernel]
pub fn panics(divisors: &[u32], out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    let divisor = divisors[i];
    out.set(i, 100 / divisor); // shows: panics
}
