//! The grid barrier.

use core::arch::asm;

use super::GlobalMut;
use super::thread::{
    block_idx_x, block_idx_y, block_idx_z, grid_dim_x, grid_dim_y, grid_dim_z, sync_threads, thread_idx_x,
    thread_idx_y, thread_idx_z,
};

include!("../grid_arrival.rs");

/// Waits until every thread of the grid has arrived. Writes before the barrier are visible to all threads after it.
///
/// All threads must call it, at the same line, in a [cooperative](crate#grid-barriers) launch. Element 0 of
/// `state` belongs to the barrier: it must be zero before the first launch, and needs no reset after that, neither
/// between two barriers nor between two launches, even of different sizes.
#[inline(always)]
pub fn sync(state: GlobalMut<u32>) {
    sync_threads();
    if thread_idx_x() == 0 && thread_idx_y() == 0 && thread_idx_z() == 0 {
        let is_first = block_idx_x() == 0 && block_idx_y() == 0 && block_idx_z() == 0;
        let blocks = grid_dim_x() * grid_dim_y() * grid_dim_z();
        let address = state.at(0);
        let before: u32;
        // SAFETY: `at` is within the buffer, which is global memory. The fence orders the block's writes, which the
        // barrier above orders before this thread, before the addition. Without `nomem`, LLVM assumes that the asm
        // accesses any memory.
        unsafe {
            asm!(
                // The comment stays in the PTX, where it marks the kernel as one that needs a cooperative launch.
                "// grid barrier", "fence.acq_rel.gpu;", "atom.relaxed.gpu.global.add.u32 {0}, [{1}], {2};",
                out(reg32) before, in(reg64) address, in(reg32) arrival(is_first, blocks),
                options(nostack, preserves_flags)
            );
        }
        loop {
            let now: u32;
            // SAFETY: as above. The load acquires the writes that the other blocks released with their additions, and
            // the barrier below orders them before this block's other threads. A volatile load would not order them.
            unsafe {
                asm!(
                    "ld.acquire.gpu.global.u32 {0}, [{1}];", out(reg32) now, in(reg64) address,
                    options(nostack, preserves_flags)
                );
            }
            if (before ^ now) & PASSED != 0 {
                break;
            }
        }
    }
    sync_threads();
}
