//! The shape of a launch, CUDA's limits on it, and the ways of accessing memory that a fault names: the words that
//! devices share, with no device behind them. Kernels' hosts use them as `cuda_std`'s.

mod access;
mod launch_config;

pub use access::Access;
pub use launch_config::{Dim3, LaunchConfig, LimitError};
