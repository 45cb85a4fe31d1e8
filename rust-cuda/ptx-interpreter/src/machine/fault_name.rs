//! Names of the kinds of faults in output files.

use super::fault::FaultKind;
use crate::memory::{AccessError, ImageError};

impl FaultKind {
    /// Name of the kind in JSON and SARIF, such as "out-of-bounds". `docs/checking.md` lists them.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Race { .. } => "race",
            Self::SameValueRace { .. } => "same-value-race",
            Self::Access { error, .. } => match error {
                AccessError::OutOfBounds { .. } | AccessError::NoAllocation { .. } => "out-of-bounds",
                AccessError::Image(ImageError::Outside { .. }) => "out-of-bounds",
                AccessError::Image(_) => "image-object",
                AccessError::Freed { .. } => "use-after-free",
                AccessError::Misaligned { .. } => "misaligned",
                AccessError::Uninitialised { .. } => "uninitialised-read",
                AccessError::WrongSpace { .. } => "wrong-space",
                AccessError::ReadOnly { .. } => "read-only",
            },
            Self::OutOfBounds { .. } | Self::Range { .. } => "out-of-bounds",
            Self::BarrierDivergence { .. } => "barrier-divergence",
            Self::BarrierOfSomeLanes { .. } => "barrier-of-some-lanes",
            Self::BarrierInTwoArms { .. } => "barrier-in-two-arms",
            Self::BarrierOperands { .. } | Self::DifferentBarriers => "barrier-operands",
            Self::ClusterBarrierDivergence { .. } | Self::ClusterBarrierOrder { .. } => "cluster-barrier",
            Self::NoSuchBlock { .. } | Self::BlockNotStarted { .. } | Self::BlockEnded { .. } => "cluster-memory",
            Self::MissingLanes { .. } => "missing-lanes",
            Self::NotAMember { .. } | Self::DifferentMembers { .. } => "member-mask",
            Self::NoSuchLane { .. } => "shuffle-source",
            Self::BranchTable { .. } => "branch-table",
            Self::NoFunction { .. } => "no-function",
            Self::Trap => "trap",
            Self::AssertionFailed { .. } => "assertion",
            Self::BadFree { .. } => "bad-free",
            Self::Overflow(_) => "overflow",
            Self::Panic { .. } => "panic",
            Self::Recursion { .. } => "recursion",
            Self::Mbarrier { .. } | Self::StoreAsyncBlocks | Self::BulkSize { .. } => "mbarrier",
            Self::TensorMap { .. } => "tensor-map",
            Self::Wgmma { .. } => "wgmma",
            Self::WaitsForever { .. } | Self::PhaseNeverEnds { .. } => "waits-forever",
            Self::EndlessLoop | Self::Endless { .. } => "endless",
            Self::NoProgress { .. } => "no-progress",
        }
    }
}
