//! The barrier of all blocks.

use core::arch::asm;

use super::GlobalMut;
use super::thread::{
    block_idx_x, block_idx_y, block_idx_z, grid_dim_x, grid_dim_y, grid_dim_z, sync_threads, thread_idx_x,
    thread_idx_y, thread_idx_z,
};

include!("../grid_arrival.rs");

/// Waits until every thread of the grid is here. What they wrote before, all see after.
///
/// All threads call it, at one line, in a launch that is [cooperative](crate#barriers-of-the-grid). Element 0 of `state`
/// is the barrier's own: it is zero before the first launch, and needs no reset after that, neither between two barriers
/// nor between two launches, be they of different sizes.
#[inline(always)]
pub fn sync(state: GlobalMut<u32>) {
    sync_threads();
    if thread_idx_x() == 0 && thread_idx_y() == 0 && thread_idx_z() == 0 {
        let is_first = block_idx_x() == 0 && block_idx_y() == 0 && block_idx_z() == 0;
        let blocks = grid_dim_x() * grid_dim_y() * grid_dim_z();
        let address = state.at(0);
        let before: u32;
        // SAFETY: `at` is within the buffer, which is global memory. The fence orders what the block wrote, which the
        // barrier above has ordered before this thread, before the addition. All asm here is taken to touch any memory.
        unsafe {
            asm!(
                // The comment stays in the PTX: by it a launch knows that this kernel must be launched cooperatively.
                "// barrier of the grid", "fence.acq_rel.gpu;", "atom.relaxed.gpu.global.add.u32 {0}, [{1}], {2};",
                out(reg32) before, in(reg64) address, in(reg32) arrival(is_first, blocks),
                options(nostack, preserves_flags)
            );
        }
        loop {
            let now: u32;
            // SAFETY: as above. The load acquires what the other blocks released by their additions, and the barrier
            // below hands that on to this block's other threads. A volatile load would not order them.
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
