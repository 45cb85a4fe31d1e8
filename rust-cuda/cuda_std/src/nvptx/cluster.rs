//! Thread block clusters: barriers between the blocks of a cluster, and access to each other's shared memory.

use core::arch::asm;

use super::mbarrier::Mbarriers;
use super::shared::in_block;
use super::{DynamicShared, out_of_shared_array, trap_because};
use crate::F32x4;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier.cluster.arrive.aligned"]
    fn arrive();
    #[link_name = "llvm.nvvm.barrier.cluster.wait.aligned"]
    fn wait();
}

/// The block's index in its cluster.
#[inline(always)]
pub fn rank() -> u32 {
    let rank: u32;
    // SAFETY: the instruction reads a register that every thread has.
    unsafe { asm!("mov.u32 {0}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack, preserves_flags)) };
    rank
}

/// The number of blocks of a cluster.
#[inline(always)]
pub fn size() -> u32 {
    let size: u32;
    // SAFETY: the instruction reads a register that every thread has.
    unsafe { asm!("mov.u32 {0}, %cluster_nctarank;", out(reg32) size, options(pure, nomem, nostack, preserves_flags)) };
    size
}

/// Waits until every thread of the cluster has arrived (`barrier.cluster`). Writes before the barrier are visible to all
/// of them after it.
#[inline(always)]
pub fn sync() {
    // SAFETY: a barrier accesses no memory; the simulator checks that all threads reach it.
    unsafe {
        arrive();
        wait();
    }
}

/// The dynamic shared memory of another block of the cluster, from [`map_shared`].
#[derive(Clone, Copy)]
pub struct ClusterShared {
    /// Address of the first element in the cluster's shared memory.
    address: u32,
    length: usize,
    rank: u32,
}

/// The array of block `rank` of the cluster that is at the place of `shared` in this block.
///
/// All blocks must have started when one accesses another's memory: [`sync`] before the first access. None ends before
/// the others' last accesses: `cuda_builder` ends a kernel that reaches this function by a barrier of the cluster. A rank
/// that is not less than [`size`] traps.
#[inline(always)]
pub fn map_shared(shared: &DynamicShared<F32x4>, rank: u32) -> ClusterShared {
    if rank >= size() {
        trap_because("the cluster has no block of this rank");
    }
    ClusterShared { address: mapped(in_block(shared.address()), rank), length: shared.len(), rank }
}

/// The address in block `rank` of the cluster of one in this block's shared memory.
#[inline(always)]
fn mapped(address: u32, rank: u32) -> u32 {
    let mapped: u32;
    // SAFETY: the instruction converts an address, and accesses no memory.
    unsafe {
        asm!(
            "mapa.shared::cluster.u32 {0}, {1}, {2};", out(reg32) mapped, in(reg32) address, in(reg32) rank,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    mapped
}

impl ClusterShared {
    /// Element `index`. An index out of bounds traps.
    #[inline(always)]
    pub fn get(&self, index: usize) -> F32x4 {
        let (x, y, z, w): (f32, f32, f32, f32);
        // SAFETY: `at` is within the array. Without `nomem`, LLVM assumes that the asm accesses any memory.
        unsafe {
            asm!(
                "ld.shared::cluster.v4.f32 {{{0}, {1}, {2}, {3}}}, [{4}];",
                out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w, in(reg32) self.at(index),
                options(nostack, preserves_flags)
            );
        }
        F32x4 { x, y, z, w }
    }

    /// Writes element `index`. An index out of bounds traps.
    #[inline(always)]
    pub fn set(&self, index: usize, value: F32x4) {
        // SAFETY: as above.
        unsafe {
            asm!(
                "st.shared::cluster.v4.f32 [{0}], {{{1}, {2}, {3}, {4}}};",
                in(reg32) self.at(index), in(reg32) value.x, in(reg32) value.y, in(reg32) value.z, in(reg32) value.w,
                options(nostack, preserves_flags)
            );
        }
    }

    /// Writes element `index` asynchronously, and then completes its 16 bytes of the current phase of that block's mbarrier `barrier`; see
    /// [`mbarrier`](crate::mbarrier). An index out of bounds traps.
    #[inline(always)]
    pub fn set_async<const N: usize>(&self, index: usize, value: F32x4, barriers: &Mbarriers<N>, barrier: usize) {
        let barrier = mapped(barriers.at(barrier), self.rank);
        // SAFETY: both addresses are within their arrays, in the block `rank`.
        unsafe {
            asm!(
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [{0}], {{{1}, {2}, {3}, {4}}}, [{5}];",
                in(reg32) self.at(index), in(reg32) value.x, in(reg32) value.y, in(reg32) value.z, in(reg32) value.w,
                in(reg32) barrier, options(nostack, preserves_flags)
            );
        }
    }

    /// Address of element `index` in the cluster's shared memory.
    #[inline(always)]
    fn at(&self, index: usize) -> u32 {
        if index >= self.length {
            out_of_shared_array();
        }
        self.address + (index * size_of::<F32x4>()) as u32
    }
}
