//! The shape of a launch, and CUDA's limits on it.

pub use cuda_launch::{Dim3, LaunchConfig, LimitError, Schedule, Search};
