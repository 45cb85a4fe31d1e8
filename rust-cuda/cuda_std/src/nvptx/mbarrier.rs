//! Barriers in shared memory that count arrivals and bytes (`mbarrier`): a thread waits for data that others send by
//! [`set_async`](crate::cluster::ClusterShared::set_async), without a barrier of the cluster.

use core::arch::asm;

use super::shared::in_block;
use super::{SharedArray, out_of_shared_array};

/// The mbarriers of a block, in an array of its shared memory.
#[derive(Clone, Copy)]
pub struct Mbarriers<const N: usize> {
    /// Address of the first in the block's shared memory.
    address: u32,
}

impl<const N: usize> Mbarriers<N> {
    /// The mbarriers in these words, which nothing else uses.
    #[inline(always)]
    pub fn new(words: SharedArray<u64, N>) -> Self {
        Self { address: in_block(words.address()) }
    }

    /// Begins the first phase of mbarrier `index`, each phase of which expects a number of arrivals, and some bytes. One thread calls it;
    /// [`cluster::sync`](crate::cluster::sync) before the first use by others. An index out of bounds traps.
    #[inline(always)]
    pub fn init(&self, index: usize, arrivals: u32) {
        // SAFETY: the address is that of a word of the array, and no value of it makes an operation undefined that the simulator does
        // not report.
        unsafe {
            asm!(
                "mbarrier.init.shared::cta.b64 [{0}], {1};", "fence.mbarrier_init.release.cluster;",
                in(reg32) self.at(index), in(reg32) arrivals, options(nostack, preserves_flags)
            );
        }
    }

    /// Arrives at mbarrier `index`, whose current phase expects `bytes` more bytes.
    #[inline(always)]
    pub fn arrive_expecting(&self, index: usize, bytes: u32) {
        // SAFETY: as above.
        unsafe {
            asm!(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{0}], {1};",
                in(reg32) self.at(index), in(reg32) bytes, options(nostack, preserves_flags)
            );
        }
    }

    /// Waits until the phase of mbarrier `index` with this parity, 0 for the first phase, is complete. What was sent for the phase is then
    /// visible to this thread.
    #[inline(always)]
    pub fn wait(&self, index: usize, parity: u32) {
        let address = self.at(index);
        while !is_complete(address, parity) {}
    }

    /// Address of an mbarrier in the block's shared memory.
    #[inline(always)]
    pub(super) fn at(&self, index: usize) -> u32 {
        if index >= N {
            out_of_shared_array();
        }
        self.address + (index * size_of::<u64>()) as u32
    }
}

/// Whether a phase is complete; waits for a while.
#[inline(always)]
fn is_complete(address: u32, parity: u32) -> bool {
    let complete: u32;
    // SAFETY: the address is that of an mbarrier. Without `nomem`, LLVM moves no access across the wait.
    unsafe {
        asm!(
            // On one line: a brace on a line of its own would end the function for cuda_builder.
            "{{ .reg .pred complete; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [{1}], {2}; selp.u32 {0}, 1, 0, complete; }}",
            out(reg32) complete, in(reg32) address, in(reg32) parity, options(nostack, preserves_flags)
        );
    }
    complete != 0
}
