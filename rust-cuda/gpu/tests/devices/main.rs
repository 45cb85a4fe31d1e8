//! Devices: the simulator, and CUDA with a stand-in driver.

mod at_once;
mod choice;
mod cooperative;
mod cuda;
mod memory;
mod parts_of_buffers;
mod rejects_other_kernels;
mod replay;
mod simulator;
mod staged_copies;
#[path = "../support/mod.rs"]
mod support;

use gpu::LaunchConfig;

/// One block of one warp.
const CONFIG: LaunchConfig = LaunchConfig {
    grid: gpu::Dim3::new(1, 1, 1),
    block: gpu::Dim3::new(32, 1, 1),
    dynamic_shared_bytes: 0,
    cooperative: false,
    cluster: 1,
};
