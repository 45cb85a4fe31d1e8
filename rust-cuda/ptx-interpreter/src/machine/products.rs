//! A warpgroup's matrix products that have not been waited for.

use thiserror::Error;

use super::pending_copies::PendingCopies;
use crate::program::Place;
use crate::program::instruction::Register;

/// Incorrect use of a warpgroup's matrix product.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WgmmaError {
    /// D is used before the product has been waited for.
    #[error(
        "uses a result of the matrix product at {place}, which has not been waited for: `wgmma.wait_group` is missing"
    )]
    NotWaitedFor {
        /// The product.
        place: Box<Place>,
    },
    /// The warpgroup has fewer than four full warps.
    #[error("a matrix product needs the 128 threads of a warpgroup: the block has only {threads} of them")]
    Incomplete {
        /// Threads of the warpgroup.
        threads: u32,
    },
    /// The lanes of a warp have different descriptors.
    #[error("the lanes of a warp pass different descriptors of a matrix: {first:#x} and {other:#x}")]
    DifferentDescriptors {
        /// The lowest lane's descriptor.
        first: u64,
        /// A different descriptor.
        other: u64,
    },
}

/// A warp's matrix products that have not been waited for.
#[derive(Clone, Debug, Default)]
pub(super) struct Products {
    /// Their reads of shared memory.
    pub(super) reads: PendingCopies,
    /// The registers that they write, with the group number and the instruction.
    pub(super) results: Vec<(Register, u32, usize)>,
    /// Number of groups that the warp has committed.
    pub(super) committed: u32,
}

impl Products {
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.results.clear();
        self.committed = 0;
    }

    /// Whether there are registers that must not be used yet.
    #[inline]
    pub(super) fn has_results(&self) -> bool {
        !self.results.is_empty()
    }
}
