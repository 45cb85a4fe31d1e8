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
