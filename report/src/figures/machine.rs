use serde::{Deserialize, Serialize};

/// The machine's properties, as far as the system reports them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// The instruction set that the CPU kernels use.
    pub instruction_set: String,
    /// Cores available to this process.
    pub cores: usize,
    /// The processor's data and unified caches, in ascending order of level.
    pub caches: Vec<Cache>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The operating system.
    pub system: String,
    /// The compiler of this program.
    pub compiler: String,
    /// The GPU and its driver, or the reason why there is none.
    pub gpu: String,
}

/// A data or unified cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Level: 1, 2 or 3.
    pub level: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of logical processors that share it.
    pub shared_by: usize,
}
