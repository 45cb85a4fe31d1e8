//! The indices of a thread and its block, the dimensions of block and grid, and the block's barrier.

use std::panic::Location;

use super::current::{self, Wait};
use super::fault;

macro_rules! indices {
    ($($(#[$doc:meta])* $name:ident: $field:ident.$axis:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name() -> u32 {
            current::with(|current| current.$field.get().$axis)
        }
    )*};
}

indices! {
    /// The thread's x in its block.
    thread_idx_x: thread_index.x;
    /// The thread's y in its block.
    thread_idx_y: thread_index.y;
    /// The thread's z in its block.
    thread_idx_z: thread_index.z;
    /// The block's x in the grid.
    block_idx_x: block_index.x;
    /// The block's y in the grid.
    block_idx_y: block_index.y;
    /// The block's z in the grid.
    block_idx_z: block_index.z;
    /// Threads of a block along x.
    block_dim_x: block_dim.x;
    /// Threads of a block along y.
    block_dim_y: block_dim.y;
    /// Threads of a block along z.
    block_dim_z: block_dim.z;
    /// Blocks of the grid along x.
    grid_dim_x: grid_dim.x;
    /// Blocks of the grid along y.
    grid_dim_y: grid_dim.y;
    /// Blocks of the grid along z.
    grid_dim_z: grid_dim.z;
}

include!("../indices.rs");

/// The thread's index in the grid, along x. It wraps around from 2³² threads on: compute with u64 what may be more.
#[inline]
pub fn index_1d() -> u32 {
    // 32 bits that wrap around, as on a GPU.
    block_idx_x().wrapping_mul(block_dim_x()).wrapping_add(thread_idx_x())
}

/// Waits until every thread of the block has arrived. Writes before the barrier are visible to all of them after it.
///
/// A thread that does not arrive, or waits at a `sync_threads` of another line, is a
/// [`BarrierDivergence`](crate::simulator::FaultKind::BarrierDivergence).
#[track_caller]
pub fn sync_threads() {
    current::wait(Wait::Barrier(Location::caller()));
}

/// As [`sync_threads`], and the number of the block's threads whose `predicate` holds.
#[track_caller]
pub fn sync_threads_count(predicate: bool) -> u32 {
    votes(predicate).0
}

/// As [`sync_threads`], and whether `predicate` holds for all of the block's threads.
#[track_caller]
pub fn sync_threads_and(predicate: bool) -> bool {
    let (votes, threads) = votes(predicate);
    votes == threads
}

/// As [`sync_threads`], and whether `predicate` holds for any of the block's threads.
#[track_caller]
pub fn sync_threads_or(predicate: bool) -> bool {
    votes(predicate).0 > 0
}

/// The votes for a predicate, and all votes, at a barrier.
#[track_caller]
fn votes(predicate: bool) -> (u32, u32) {
    if fault::is_unwinding() {
        return (predicate.into(), 1);
    }
    let epoch = current::with(|current| current.epoch.get());
    current::with_block(|block| block.votes.add(epoch, predicate));
    current::wait(Wait::Barrier(Location::caller()));
    current::with_block(|block| block.votes.at(epoch))
}
