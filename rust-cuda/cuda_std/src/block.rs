//! Block-wide reductions and scans, which all threads of a block must reach: barriers are inside.
//!
//! They exchange the warps' results through an array in shared memory that the kernel declares, with an element for each warp, as
//! CUB's `TempStorage`:
//!
//! ```
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{GlobalMut, LaunchConfig, block, kernel, shared_array, thread};
//!
//! /// totals[block] = the sum of the block's elements.
//! #[kernel]
//! pub fn sum_blocks(x: &[u32], totals: GlobalMut<u32>) {
//!     let warps = shared_array![u32; 32];
//!     let i = thread::index_1d() as usize;
//!     let total = block::reduce_add(if i < x.len() { x[i] } else { 0 }, &warps);
//!     if thread::thread_idx_x() == 0 {
//!         totals[thread::block_idx_x() as usize] = total;
//!     }
//! }
//!
//! let x = SimulatorBuffer::from_slice(&(1..=100).collect::<Vec<u32>>());
//! let mut totals = SimulatorBuffer::uninitialized(2);
//! simulator::launch(&sum_blocks, LaunchConfig::new(2, 70), (&x, &mut totals))?;
//! assert_eq!(totals.to_vec(), [35 * 71, 5050 - 35 * 71]);
//! # Ok::<(), simulator::LaunchError>(())
//! ```

use crate::warp::{self, WarpValue};
use crate::{Element, SharedArray, thread};

/// The thread's index in its block; x varies fastest.
#[inline(always)]
pub fn thread() -> u32 {
    let (index, dim) = (thread::thread_idx(), thread::block_dim());
    index.x + dim.x * (index.y + dim.y * index.z)
}

/// The number of threads of a block.
#[inline(always)]
pub fn threads() -> u32 {
    let dim = thread::block_dim();
    dim.x * dim.y * dim.z
}

/// What `combine` makes of all threads' values, in every thread: each warp's result, combined in the order of the warps.
#[inline(always)]
#[track_caller]
fn reduce<T: Element + WarpValue, const N: usize>(
    of_warp: T,
    warps: &SharedArray<T, N>,
    combine: impl Fn(T, T) -> T,
) -> T {
    if thread().is_multiple_of(32) {
        warps.set(thread() as usize / 32, of_warp);
    }
    thread::sync_threads();
    let mut total = warps.get(0);
    let mut warp = 1;
    while warp < threads().div_ceil(32) as usize {
        total = combine(total, warps.get(warp));
        warp += 1;
    }
    // The next reduction may write the array.
    thread::sync_threads();
    total
}

/// The sum of all threads' values, in every thread. `warps` has an element for each warp of the block, else an index is out of bounds.
#[inline(always)]
#[track_caller]
pub fn reduce_add<T: Element + WarpValue, const N: usize>(value: T, warps: &SharedArray<T, N>) -> T {
    reduce(warp::whole().reduce_add(value), warps, T::plus)
}

/// The maximum of all threads' values, in every thread. `warps` as for [`reduce_add`].
#[inline(always)]
#[track_caller]
pub fn reduce_max<T: Element + WarpValue, const N: usize>(value: T, warps: &SharedArray<T, N>) -> T {
    reduce(warp::whole().reduce_max(value), warps, T::larger)
}

/// The minimum of all threads' values, in every thread. `warps` as for [`reduce_add`].
#[inline(always)]
#[track_caller]
pub fn reduce_min<T: Element + WarpValue, const N: usize>(value: T, warps: &SharedArray<T, N>) -> T {
    reduce(warp::whole().reduce_min(value), warps, T::smaller)
}

/// `sum` after the totals of the first `warp` warps, of which `warps` has each.
#[inline(always)]
#[track_caller]
fn after_warps<T: Element + WarpValue, const N: usize>(mut warp: usize, mut sum: T, warps: &SharedArray<T, N>) -> T {
    while warp > 0 {
        warp -= 1;
        sum = warps.get(warp).plus(sum);
    }
    // The next scan may write the array.
    thread::sync_threads();
    sum
}

/// The sum of the values of this thread and those before it in the block. `warps` as for [`reduce_add`].
#[inline(always)]
#[track_caller]
pub fn inclusive_scan_add<T: Element + WarpValue, const N: usize>(value: T, warps: &SharedArray<T, N>) -> T {
    let lanes = warp::whole();
    let sum = lanes.inclusive_scan_add(value);
    let warp = thread() as usize / 32;
    if lanes.rank() == lanes.len() - 1 {
        warps.set(warp, sum);
    }
    thread::sync_threads();
    after_warps(warp, sum, warps)
}

/// The sum of the values of the threads before this one in the block, `zero` in the first. `warps` as for [`reduce_add`].
#[inline(always)]
#[track_caller]
pub fn exclusive_scan_add<T: Element + WarpValue, const N: usize>(value: T, zero: T, warps: &SharedArray<T, N>) -> T {
    let lanes = warp::whole();
    let mut sum = lanes.exclusive_scan_add(value, zero);
    let mut warp = thread() as usize / 32;
    if lanes.rank() == lanes.len() - 1 {
        warps.set(warp, if lanes.rank() == 0 { value } else { sum.plus(value) });
    }
    thread::sync_threads();
    if lanes.rank() == 0 && warp > 0 {
        // No lane of its warp is before this one.
        warp -= 1;
        sum = warps.get(warp);
    }
    after_warps(warp, sum, warps)
}
