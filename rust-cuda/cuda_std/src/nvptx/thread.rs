//! The indices of a thread and its block, the dimensions of block and grid, and the block's barrier.

use core::arch::nvptx;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier0.popc"]
    fn barrier_popc(predicate: i32) -> i32;
    #[link_name = "llvm.nvvm.barrier0.and"]
    fn barrier_and(predicate: i32) -> i32;
    #[link_name = "llvm.nvvm.barrier0.or"]
    fn barrier_or(predicate: i32) -> i32;
}

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident: $register:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: the intrinsic reads a register that every thread has.
            unsafe { nvptx::$register() as u32 }
        }
    )*};
}

registers! {
    /// The thread's x in its block.
    thread_idx_x: _thread_idx_x;
    /// The thread's y in its block.
    thread_idx_y: _thread_idx_y;
    /// The thread's z in its block.
    thread_idx_z: _thread_idx_z;
    /// The block's x in the grid.
    block_idx_x: _block_idx_x;
    /// The block's y in the grid.
    block_idx_y: _block_idx_y;
    /// The block's z in the grid.
    block_idx_z: _block_idx_z;
    /// Threads of a block along x.
    block_dim_x: _block_dim_x;
    /// Threads of a block along y.
    block_dim_y: _block_dim_y;
    /// Threads of a block along z.
    block_dim_z: _block_dim_z;
    /// Blocks of the grid along x.
    grid_dim_x: _grid_dim_x;
    /// Blocks of the grid along y.
    grid_dim_y: _grid_dim_y;
    /// Blocks of the grid along z.
    grid_dim_z: _grid_dim_z;
}

include!("../indices.rs");

/// The thread's index in the grid, along x. It wraps around from 2³² threads on: compute with u64 what may be more.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// Waits until every thread of the block has arrived (`bar.sync`). Writes before the barrier are visible to all of them
/// after it.
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: a barrier accesses no memory; the simulator checks that all threads reach it.
    unsafe { nvptx::_syncthreads() }
}

/// As [`sync_threads`], and the number of the block's threads whose `predicate` holds.
#[inline(always)]
pub fn sync_threads_count(predicate: bool) -> u32 {
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_popc(predicate.into()) as u32 }
}

/// As [`sync_threads`], and whether `predicate` holds for all of the block's threads.
#[inline(always)]
pub fn sync_threads_and(predicate: bool) -> bool {
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_and(predicate.into()) != 0 }
}

/// As [`sync_threads`], and whether `predicate` holds for any of the block's threads.
#[inline(always)]
pub fn sync_threads_or(predicate: bool) -> bool {
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_or(predicate.into()) != 0 }
}
