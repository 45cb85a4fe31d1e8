//! The memories and offsets that the lanes' addresses resolve to.

use super::lanes::lanes_of;
use crate::semantics::LANES;

/// The memory that an address resolves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Memory {
    /// The allocation at this index in the launch's view.
    Global(usize),
    Shared,
    DynamicShared,
    /// The static or dynamic shared memory of another block of the cluster, by that block's index
    /// in the cluster.
    OtherShared {
        rank: u32,
        is_dynamic: bool,
    },
    Local,
    Parameters,
    Constants,
}

/// A lane's memory, and the byte offset in it.
pub(super) type LaneAddress = (Memory, usize);

/// The resolved addresses of a warp's lanes.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "it lives on the stack, where a box would cost an allocation an access")]
pub(super) enum LaneAddresses {
    /// All lanes access one memory, at a constant stride in bytes.
    Strided { memory: Memory, offset: usize, stride: usize },
    /// One address per lane. Unspecified for inactive lanes.
    PerLane([LaneAddress; LANES]),
}

impl LaneAddresses {
    /// Placeholders used before any lane is resolved.
    pub(super) fn unresolved() -> Self {
        Self::PerLane([(Memory::Local, 0); LANES])
    }

    /// The resolved address of a lane.
    #[inline]
    pub(super) fn at(&self, lane: usize) -> LaneAddress {
        match self {
            Self::Strided { memory, offset, stride } => (*memory, offset + lane * stride),
            Self::PerLane(resolved) => resolved[lane],
        }
    }

    /// The memory that all of these lanes access. `None` if they access several.
    #[inline]
    pub(super) fn memory_of(&self, lanes: u32) -> Option<Memory> {
        match self {
            Self::Strided { memory, .. } => Some(*memory),
            Self::PerLane(resolved) => {
                let (memory, _) = resolved.get(lanes.trailing_zeros() as usize)?;
                lanes_of(lanes).all(|lane| resolved[lane].0 == *memory).then_some(*memory)
            }
        }
    }

    pub(super) fn set(&mut self, lane: usize, found: LaneAddress) {
        if let Self::Strided { memory, offset, stride } = *self {
            let each = std::array::from_fn(|lane| (memory, offset + lane * stride));
            *self = Self::PerLane(each);
        }
        if let Self::PerLane(resolved) = self {
            resolved[lane] = found;
        }
    }
}
