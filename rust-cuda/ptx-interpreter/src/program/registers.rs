//! The registers of a kernel, special registers, and the values that they hold when a warp starts.

/// A register or predicate declared in the PTX.
#[derive(Clone, Debug)]
pub(crate) struct NamedRegister {
    pub(crate) name: String,
    /// Index among the registers, or among the predicates.
    pub(crate) index: u32,
    /// Size in bits; 1 for predicates.
    pub(crate) bits: usize,
}

/// A register's value when a warp starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Initial {
    /// Unspecified. The low bits, up to the register's width, hold a recognizable pattern.
    Uninitialised(usize),
    Constant(u64),
    Special(Special),
}

impl Initial {
    /// Whether it is half of the address of the grid workspace.
    pub(crate) fn is_grid_workspace(&self) -> bool {
        matches!(self, Self::Special(Special::GridWorkspace { .. }))
    }
}

/// A special register (PTX ISA 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    ThreadIndex(usize),
    BlockSize(usize),
    BlockIndex(usize),
    GridSize(usize),
    Lane,
    Warp,
    Warps,
    /// Mask of the lanes with an index that compares to the current lane's as given.
    LaneMask(LaneComparison),
    DynamicSharedBytes,
    /// Static and dynamic shared memory of a block, optionally including the part that the system
    /// reserves.
    SharedBytes {
        with_reserved: bool,
    },
    /// The end, and also the size, of the shared memory that the system reserves.
    ReservedSharedBytes,
    /// The block's index in its cluster.
    ClusterRank,
    /// The number of blocks of a cluster.
    ClusterSize,
    /// The cluster's index in the grid.
    ClusterIndex(usize),
    /// The number of clusters of the grid.
    Clusters(usize),
    /// The block's index in its cluster, and the cluster's size, per dimension.
    IndexInCluster(usize),
    ClusterShape(usize),
    /// 1 in a launch with clusters, otherwise 0.
    IsExplicitCluster,
    /// The multiprocessor on which the block runs, and the number of multiprocessors.
    Multiprocessor,
    Multiprocessors,
    /// The launch's number. Every launch counts as the first.
    GridNumber,
    /// The upper or lower half of the address of the grid workspace. 0 in a launch that is not
    /// cooperative.
    GridWorkspace {
        upper: bool,
    },
    Zero,
}

/// Comparison of other lanes' indices with the current lane's, for `%lanemask_eq` and its variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneComparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl LaneComparison {
    /// Mask of the lanes for which the comparison with `lane` holds.
    pub(crate) fn mask(self, lane: u32) -> u32 {
        match self {
            Self::Equal => 1 << lane,
            Self::Less => (1 << lane) - 1,
            Self::LessOrEqual => u32::MAX >> (31 - lane),
            Self::Greater => !(u32::MAX >> (31 - lane)),
            Self::GreaterOrEqual => u32::MAX << lane,
        }
    }
}
