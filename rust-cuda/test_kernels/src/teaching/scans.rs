//! Inclusive prefix sums: out\[i\] = x\[0\] + … + x\[i\]; integers wrap around.
//!
//! In three launches: a kernel scans each block's elements and writes their sum to `sums`, the same kernel scans
//! `sums`, and [`add_previous_blocks`] adds to each element the scanned sum of the blocks before its own.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

/// Elements of a block.
pub const ELEMENTS: usize = 128;

/// The scan of Hillis and Steele (1986): in rounds with the distances 1, 2, 4, …, every element gets that at the
/// distance before it added. n·log₂ n additions; a round reads one half of `values` and writes the other. Launch:
/// [`ELEMENTS`] threads a block.
#[kernel]
pub fn scan_hillis_steele(x: &[u32], out: GlobalMut<u32>, sums: GlobalMut<u32>) {
    let values = shared_array![u32; 2 * ELEMENTS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    values.set(t, if i < x.len() { x[i] } else { 0 });
    thread::sync_threads();
    let (mut from, mut to) = (0, ELEMENTS);
    let mut distance = 1;
    while distance < ELEMENTS {
        let before = if t >= distance { values.get(from + t - distance) } else { 0 };
        values.set(to + t, values.get(from + t).wrapping_add(before));
        thread::sync_threads();
        (from, to) = (to, from);
        distance *= 2;
    }
    let sum = values.get(from + t);
    if i < out.len() {
        out.set(i, sum);
    }
    if t == ELEMENTS - 1 {
        sums.set(thread::block_idx_x() as usize, sum);
    }
}

/// The work-efficient scan of Blelloch (1990): sums go up a tree in place, then the sums of all elements to the left go
/// down it. 2n additions. Launch: [`ELEMENTS`] / 2 threads a block.
#[kernel]
pub fn scan_blelloch(x: &[u32], out: GlobalMut<u32>, sums: GlobalMut<u32>) {
    let values = shared_array![u32; ELEMENTS];
    let (t, block) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
    let first = block * ELEMENTS;
    for place in (t..ELEMENTS).step_by(ELEMENTS / 2) {
        let i = first + place;
        values.set(place, if i < x.len() { x[i] } else { 0 });
    }
    // Up: the last element of each subtree gets its sum.
    let mut distance = 1;
    while distance < ELEMENTS {
        thread::sync_threads();
        let right = 2 * distance * (t + 1) - 1;
        if right < ELEMENTS {
            values.set(right, values.get(right).wrapping_add(values.get(right - distance)));
        }
        distance *= 2;
    }
    thread::sync_threads();
    if t == 0 {
        sums.set(block, values.get(ELEMENTS - 1));
        values.set(ELEMENTS - 1, 0);
    }
    // Down: the left child gets its parent's value, the right child that plus the left child's sum.
    while distance > 1 {
        distance /= 2;
        thread::sync_threads();
        let right = 2 * distance * (t + 1) - 1;
        if right < ELEMENTS {
            let (left_sum, parent) = (values.get(right - distance), values.get(right));
            values.set(right - distance, parent);
            values.set(right, parent.wrapping_add(left_sum));
        }
    }
    thread::sync_threads();
    // The tree has the exclusive sums.
    for place in (t..ELEMENTS).step_by(ELEMENTS / 2) {
        let i = first + place;
        if i < x.len() {
            out.set(i, values.get(place).wrapping_add(x[i]));
        }
    }
}

/// Adds to each element of `out` the sum of the blocks before its own, from the inclusive scan of the blocks' sums.
/// Launch: [`ELEMENTS`] threads a block.
#[kernel]
pub fn add_previous_blocks(scanned_sums: &[u32], out: GlobalMut<u32>) {
    let (i, block) = (thread::index_1d() as usize, thread::block_idx_x() as usize);
    if block > 0 && i < out.len() {
        out.set(i, out.get(i).wrapping_add(scanned_sums[block - 1]));
    }
}
