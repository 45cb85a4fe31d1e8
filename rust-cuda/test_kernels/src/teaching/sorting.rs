//! Bitonic sort, a pass of radix sort, and the k largest elements.

use cuda_std::{GlobalMut, kernel, shared_array, thread, warp};

/// Elements that a block of [`bitonic_sort`] sorts, a power of two.
pub const SORTED: usize = 128;

/// Sorts each block's [`SORTED`] elements by Batcher's bitonic network (1968).
///
/// For sizes 2, 4, 8, …: sequences of that size, whose first half ascends and whose second half descends, become
/// ascending and descending ones in turn, by comparisons at the distances size / 2, size / 4, …, 1. The largest value
/// fills the last block. Launch: [`SORTED`] / 2 threads a block, each of which compares one pair in each round.
#[kernel]
pub fn bitonic_sort(x: &[u32], out: GlobalMut<u32>) {
    let values = shared_array![u32; SORTED];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * SORTED;
    for place in (t..SORTED).step_by(SORTED / 2) {
        let i = first + place;
        values.set(place, if i < x.len() { x[i] } else { u32::MAX });
    }
    thread::sync_threads();
    let mut size = 2;
    while size <= SORTED {
        let mut distance = size / 2;
        while distance > 0 {
            let lower = t / distance * (2 * distance) + t % distance;
            let upper = lower + distance;
            let (a, b) = (values.get(lower), values.get(upper));
            let is_ascending = lower & size == 0;
            if (a > b) == is_ascending {
                values.set(lower, b);
                values.set(upper, a);
            }
            thread::sync_threads();
            distance /= 2;
        }
        size *= 2;
    }
    for place in (t..SORTED).step_by(SORTED / 2) {
        let i = first + place;
        if i < out.len() {
            out.set(i, values.get(place));
        }
    }
}

/// Threads of a block of the radix sort, one for each of its keys.
pub const THREADS: usize = 128;

/// Warps of a block.
const WARPS: usize = THREADS / 32;

/// Bits of a digit.
pub const DIGIT_BITS: u32 = 4;

/// Number of digits.
pub const DIGITS: usize = 1 << DIGIT_BITS;

/// The digit of `key` whose lowest bit is bit `shift`.
fn digit_of(key: u32, shift: u32) -> usize {
    (key >> shift) as usize % DIGITS
}

/// The first half of a pass of radix sort: counts\[digit, block\] = number of the block's keys with that digit. The
/// exclusive prefix sums of `counts` are the indices at which [`radix_scatter`] writes the keys of each digit and
/// block.
#[kernel]
pub fn radix_count(keys: &[u32], shift: u32, counts: GlobalMut<u32>) {
    let of_block = shared_array![u32; DIGITS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    if t < DIGITS {
        of_block.set(t, 0);
    }
    thread::sync_threads();
    if i < keys.len() {
        of_block.atomic(digit_of(keys[i], shift)).fetch_add(1);
    }
    thread::sync_threads();
    if t < DIGITS {
        let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
        counts.set(t * blocks + block, of_block.get(t));
    }
}

/// The second half: sorts the keys by one digit; keys with the same digit keep their order. A pass for each digit, the
/// lowest first, sorts the keys.
///
/// A key's index is `starts[digit, block]`, plus the number of keys with its digit in earlier warps of the block and in
/// lower lanes.
#[kernel]
pub fn radix_scatter(keys: &[u32], shift: u32, starts: &[u32], out: GlobalMut<u32>) {
    let of_warps = shared_array![u32; WARPS * DIGITS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let (own_warp, lane) = (t / 32, warp::lane_id());
    for place in (t..WARPS * DIGITS).step_by(THREADS) {
        of_warps.set(place, 0);
    }
    thread::sync_threads();
    let has_key = i < keys.len();
    // A lane without a key has a digit of its own.
    let digit = if has_key { digit_of(keys[i], shift) } else { DIGITS };
    let same_digit = warp::match_any(digit as u32);
    let before = (same_digit & ((1 << lane) - 1)).count_ones();
    if has_key && before == 0 {
        of_warps.set(own_warp * DIGITS + digit, same_digit.count_ones());
    }
    thread::sync_threads();
    if has_key {
        let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
        let mut place = starts[digit * blocks + block] + before;
        for earlier in 0..own_warp {
            place += of_warps.get(earlier * DIGITS + digit);
        }
        out.set(place as usize, keys[i]);
    }
}

/// The `k` largest elements of each row of `columns` elements, in descending order, and their columns; of equal ones
/// the first column is first. `k` is at most `columns`; x has no NaN, and −0 is less than 0.
///
/// A warp for each row finds in k rounds the largest element below the last one. Launch: blocks of whole warps.
#[kernel]
pub fn top_k(x: &[f32], columns: u32, k: u32, values: GlobalMut<f32>, indices: GlobalMut<u32>) {
    let (row, lane) = (thread::index_1d() as usize / 32, warp::lane_id());
    let first = row * columns as usize;
    if first >= x.len() {
        return;
    }
    let mut last = u64::MAX;
    for rank in 0..k {
        let mut largest = 0;
        for column in (lane..columns).step_by(32) {
            let key = rank_key(x[first + column as usize], column);
            if key < last {
                largest = largest.max(key);
            }
        }
        last = warp::reduce_max(largest);
        if lane == 0 {
            let (column, place) = (!(last as u32), row * k as usize + rank as usize);
            values.set(place, x[first + column as usize]);
            indices.set(place, column);
        }
    }
}

/// An integer that is larger for a larger `value`, and for equal values in an earlier column. The bits of floats that
/// are not negative are ordered as they are; those of negative ones in reverse.
fn rank_key(value: f32, column: u32) -> u64 {
    let bits = value.to_bits();
    let ordered = if value.is_sign_negative() { !bits } else { bits | 1 << 31 };
    u64::from(ordered) << 32 | u64::from(!column)
}
