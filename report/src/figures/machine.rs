use serde::{Deserialize, Serialize};

/// The machine, as far as it tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// The instruction set that the CPU kernels chose.
    pub instruction_set: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// The processor's caches for data, smallest first.
    pub caches: Vec<Cache>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The operating system.
    pub system: String,
    /// The compiler of this program.
    pub compiler: String,
    /// The GPU and its driver, or why there is none.
    pub gpu: String,
}

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// Its bytes.
    pub bytes: u64,
    /// How many of the processor's threads share it.
    pub shared_by: usize,
}
