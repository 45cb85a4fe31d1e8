//! Groups of lanes and blocks: tiles, masks, reductions and scans.

use cuda_std::{GlobalMut, block, kernel, shared_array, thread, warp};

/// Values that each thread writes in [`tiles`].
pub const OF_TILE: usize = 8;

/// Writes what tiles of `N` lanes make of the elements of `x`: sum, maximum, minimum, inclusive and exclusive scan, the value of the
/// lane two ranks above, the votes of odd values, and the value of the mirrored lane, through shared memory. Tiles whose index is odd
/// do so twice, the second time of other values. The one block has at most 64 threads, in whole tiles.
#[kernel(1, 2, 4, 8, 16, 32)]
pub fn tiles<const N: u32>(x: &[f32], out: GlobalMut<f32>) {
    let values = shared_array![f32; 64];
    let (i, tile) = (thread::thread_idx_x() as usize, warp::tile(N));
    let mut round = 0;
    while round <= (i as u32 / N) % 2 {
        let value = x[i] + 100.0 * round as f32;
        values[i] = value;
        tile.sync();
        let mirrored = values[i - tile.rank() as usize + (N - 1 - tile.rank()) as usize];
        let results: [f32; OF_TILE] = [
            tile.reduce_add(value),
            tile.reduce_max(value),
            tile.reduce_min(value),
            tile.inclusive_scan_add(value),
            tile.exclusive_scan_add(value, 0.5),
            tile.shuffle_down(value, 2),
            tile.ballot(value as u32 % 2 == 1) as f32,
            mirrored,
        ];
        tile.sync();
        let mut k = 0;
        while k < OF_TILE {
            out[OF_TILE * i + k] = results[k];
            k += 1;
        }
        round += 1;
    }
}

/// Of the lanes with equal `keys`, `sums[i]` has the sum of the `values`, and `ranks[i]` the number below.
#[kernel]
pub fn sums_equal_keys(keys: &[u64], values: &[i64], sums: GlobalMut<i64>, ranks: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < keys.len() {
        let present = warp::lanes(warp::activemask());
        let equal = warp::lanes(present.match_any(keys[i]));
        sums[i] = if keys[i] % 2 == 1 {
            equal.reduce_add(values[i])
        } else {
            equal.shuffle(equal.inclusive_scan_add(values[i]), equal.len() - 1)
        };
        ranks[i] = equal.rank();
    }
}

/// Appends the odd elements of `x` to `out`, in any order, with one atomic operation for the active lanes of a warp.
#[kernel]
pub fn appends_odd(x: &[u32], count: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < x.len() && x[i] % 2 == 1 {
        let active = warp::lanes(warp::activemask());
        let mut first = 0;
        if active.rank() == 0 {
            first = count.atomic(0).fetch_add(active.len());
        }
        out[(active.shuffle(first, 0) + active.rank()) as usize] = x[i];
    }
}

/// Values that each thread writes in [`blocks`].
pub const OF_BLOCK: usize = 5;

/// Writes the block's sum, maximum, minimum, inclusive and exclusive scan of the elements of `x`.
#[kernel]
pub fn blocks(x: &[u32], out: GlobalMut<u32>) {
    let warps = shared_array![u32; 32];
    let i = (thread::block_idx_x() * block::threads() + block::thread()) as usize;
    let value = x[i];
    let results: [u32; OF_BLOCK] = [
        block::reduce_add(value, &warps),
        block::reduce_max(value, &warps),
        block::reduce_min(value, &warps),
        block::inclusive_scan_add(value, &warps),
        block::exclusive_scan_add(value, 7, &warps),
    ];
    let mut k = 0;
    while k < OF_BLOCK {
        out[OF_BLOCK * i + k] = results[k];
        k += 1;
    }
}
