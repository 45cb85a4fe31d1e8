//! The shape of a launch, and CUDA's limits on it.

use thiserror::Error;

/// A size or an index in three dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// Along x, which varies fastest.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Dim3 {
    /// x × y × z.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// x · y · z, saturating.
    pub const fn count(self) -> u64 {
        // CUDA's limits keep this below 2⁶³. It saturates because they may not have been checked
        // yet.
        (self.x as u64 * self.y as u64).saturating_mul(self.z as u64)
    }

    /// The index with linear position `linear` in this size; x varies fastest.
    pub const fn index_of(self, linear: u64) -> Self {
        let (x, y) = (self.x as u64, self.y as u64);
        // A fast path without divisions: most launches have one dimension.
        if linear < x {
            return Self::new(linear as u32, 0, 0);
        }
        Self::new((linear % x) as u32, (linear / x % y) as u32, (linear / (x * y)) as u32)
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self::new(x, 1, 1)
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self::new(x, y, 1)
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self::new(x, y, z)
    }
}

impl std::fmt::Display for Dim3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// The grid, block and shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Number of blocks in the grid.
    pub grid: Dim3,
    /// Number of threads per block.
    pub block: Dim3,
    /// Bytes of shared memory per block in addition to the kernel's own arrays.
    pub dynamic_shared_bytes: u32,
    /// Whether all blocks of the grid are resident at once, so they can synchronize with
    /// `cuda_std::grid::sync`.
    pub cooperative: bool,
    /// Number of blocks per cluster, consecutive along x. 1 means no clusters.
    pub cluster: u8,
}

impl LaunchConfig {
    /// Maximum threads per block.
    pub const MAX_THREADS: u32 = 1024;
    /// Maximum threads per block along each dimension.
    pub const MAX_BLOCK: Dim3 = Dim3::new(1024, 1024, 64);
    /// Maximum blocks per grid along each dimension.
    pub const MAX_GRID: Dim3 = Dim3::new(i32::MAX as u32, 65_535, 65_535);
    /// Maximum blocks per cluster. A GPU may reject more than 8.
    pub const MAX_CLUSTER: u8 = 16;
    /// Maximum total bytes of a block's arrays from `cuda_std::shared_array!`.
    pub const MAX_STATIC_SHARED_BYTES: u32 = 48 * 1024;
    /// Maximum bytes of shared memory per block, arrays and dynamic part together, on any supported
    /// GPU: the limit of sm_90. Other architectures have less: sm_75 64 KiB, sm_80 163 KiB, sm_86
    /// and sm_89 99 KiB.
    pub const MAX_SHARED_BYTES: u32 = 227 * 1024;

    /// `grid` blocks of `block` threads, not cooperative and without dynamic shared memory.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self { grid: grid.into(), block: block.into(), dynamic_shared_bytes: 0, cooperative: false, cluster: 1 }
    }

    /// At least one thread per element, in blocks of `threads`, for a kernel that uses
    /// `thread::index_1d()` as the index of a thread's element. Indices of more than 2³¹ elements
    /// still fit in 32 bits with `thread::index_1d() as usize`.
    ///
    /// # Panics
    /// If there are more than 2³² threads, since several would get the same 32-bit index. Launch
    /// fewer threads with [`new`](Self::new) and let each handle every n-th element, where n is the
    /// number of threads in the grid:
    ///
    /// ```
    /// # use cuda_launch::LaunchConfig;
    /// // In the kernel: `let mut i = thread::index_1d() as usize;`, and `i += n` until `i >= x.len()`, where n is
    /// // `thread::grid_dim_x() as usize * thread::block_dim_x() as usize`.
    /// let config = LaunchConfig::new(1 << 20, 256);
    /// # config.check().unwrap();
    /// ```
    #[track_caller]
    pub fn for_elements(elements: usize, threads: u32) -> Self {
        let blocks = (elements as u64).div_ceil(threads.max(1).into()).max(1);
        assert!(
            blocks.saturating_mul(threads.into()) <= 1 << 32,
            "a thread for each of {elements} elements, in blocks of {threads}: `thread::index_1d()` has 32 bits, which tell 2³² threads \
             apart; launch fewer by `LaunchConfig::new`, each for every n-th element, where n is the number of threads"
        );
        // Empty blocks and too many blocks are errors of the launch.
        Self::new(u32::try_from(blocks).unwrap_or(u32::MAX), threads)
    }

    /// The same with `bytes` of dynamic shared memory.
    pub fn with_dynamic_shared(self, bytes: u32) -> Self {
        Self { dynamic_shared_bytes: bytes, ..self }
    }

    /// The same with all blocks resident at once, so they can synchronize with
    /// `cuda_std::grid::sync`. A device rejects more blocks than it can run at once.
    pub fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// The same with clusters of `blocks` blocks, for a kernel that uses `cuda_std::cluster`.
    pub fn clusters_of(self, blocks: u32) -> Self {
        // Any larger number exceeds MAX_CLUSTER, which `check` rejects.
        Self { cluster: u8::try_from(blocks).unwrap_or(u8::MAX), ..self }
    }

    /// Checks this launch against CUDA's limits.
    ///
    /// # Errors
    /// The first limit that it exceeds.
    pub fn check(&self) -> Result<(), LimitError> {
        let Self { grid, block, .. } = *self;
        if grid.count() == 0 {
            return Err(LimitError::EmptyGrid { grid });
        }
        if block.count() == 0 {
            return Err(LimitError::EmptyBlock { block });
        }
        let exceeds = |size: Dim3, limit: Dim3| size.x > limit.x || size.y > limit.y || size.z > limit.z;
        if exceeds(grid, Self::MAX_GRID) {
            return Err(LimitError::Grid { grid });
        }
        if exceeds(block, Self::MAX_BLOCK) {
            return Err(LimitError::Block { block });
        }
        if block.count() > u64::from(Self::MAX_THREADS) {
            return Err(LimitError::Threads { block, threads: block.count() });
        }
        if self.cluster == 0 || self.cluster > Self::MAX_CLUSTER || !grid.x.is_multiple_of(self.cluster.into()) {
            return Err(LimitError::Cluster { cluster: self.cluster, grid });
        }
        if self.cluster > 1 && self.cooperative {
            return Err(LimitError::CooperativeClusters);
        }
        self.check_shared(Self::MAX_SHARED_BYTES)
    }

    /// Checks that the dynamic shared memory alone is within `limit`, the device's maximum bytes
    /// per block.
    ///
    /// # Errors
    /// [`LimitError::SharedMemory`]
    pub fn check_shared(&self, limit: u32) -> Result<(), LimitError> {
        let bytes = self.dynamic_shared_bytes;
        if bytes > limit { Err(LimitError::SharedMemory { bytes, limit }) } else { Ok(()) }
    }
}

/// A CUDA limit that a launch exceeds.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum LimitError {
    /// The grid has no blocks.
    #[error("the grid {grid} has no blocks")]
    EmptyGrid {
        /// The requested grid.
        grid: Dim3,
    },
    /// The blocks have no threads.
    #[error("the block {block} has no threads")]
    EmptyBlock {
        /// The requested block.
        block: Dim3,
    },
    /// The grid is too large along a dimension.
    #[error("the grid {grid} is larger than {}", LaunchConfig::MAX_GRID)]
    Grid {
        /// The requested grid.
        grid: Dim3,
    },
    /// The block is too large along a dimension.
    #[error("the block {block} is larger than {}", LaunchConfig::MAX_BLOCK)]
    Block {
        /// The requested block.
        block: Dim3,
    },
    /// The block has too many threads.
    #[error("the block {block} has {threads} threads; at most {} are possible", LaunchConfig::MAX_THREADS)]
    Threads {
        /// The requested block.
        block: Dim3,
        /// Number of threads in the block.
        threads: u64,
    },
    /// The blocks along x do not form whole clusters, or a cluster has no blocks or too many.
    #[error(
        "clusters of {cluster} blocks in the grid {grid}: a cluster has 1 to {} blocks, the grid whole clusters along x",
        LaunchConfig::MAX_CLUSTER
    )]
    Cluster {
        /// Number of blocks per cluster.
        cluster: u8,
        /// The requested grid.
        grid: Dim3,
    },
    /// A cooperative launch has clusters, which are not supported.
    #[error("a cooperative launch with clusters is not supported")]
    CooperativeClusters,
    /// The block uses too much shared memory.
    #[error("{bytes} bytes of dynamic shared memory; at most {limit} are possible")]
    SharedMemory {
        /// The requested number of bytes.
        bytes: u32,
        /// Maximum bytes per block.
        limit: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_thread() {
        for (elements, threads, blocks) in [
            (0, 128, 1),
            (1, 128, 1),
            (129, 128, 2),
            ((1 << 31) + 1, 256, (1 << 23) + 1),
            (1 << 32, 256, 1 << 24),
            ((1 << 32) - 100, 100, 42_949_672),
        ] {
            let config = LaunchConfig::for_elements(elements, threads);
            assert_eq!(config, LaunchConfig::new(blocks, threads));
            assert_eq!(config.check(), Ok(()));
        }
    }

    #[test]
    fn threads_whose_indices_would_repeat_are_rejected() {
        for (elements, threads) in [((1 << 32) + 1, 256), ((1 << 32) - 1, 100), (usize::MAX, 1024), (1 << 33, 1)] {
            let panic = std::panic::catch_unwind(|| LaunchConfig::for_elements(elements, threads)).unwrap_err();
            let message = panic.downcast::<String>().unwrap();
            assert!(message.starts_with(&format!("a thread for each of {elements} elements, in blocks")), "{message}");
        }
    }

    #[test]
    fn too_many_blocks_and_blocks_without_threads_are_errors_of_the_launch() {
        let check = |elements, threads| LaunchConfig::for_elements(elements, threads).check();
        assert_eq!(check(1 << 31, 1), Err(LimitError::Grid { grid: Dim3::new(1 << 31, 1, 1) }));
        assert!(matches!(check(1 << 32, 1), Err(LimitError::Grid { .. })));
        assert_eq!(check(5, 0), Err(LimitError::EmptyBlock { block: Dim3::new(0, 1, 1) }));
    }
}
