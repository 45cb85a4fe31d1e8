//! The forward pass of a [`neural_net::Network`] as compute shaders, on any GPU or on a software adapter.
//!
//! The shaders are in `src/shaders`, in WGSL; wgpu translates them for Vulkan, Metal, DirectX 12 or OpenGL. A batch is one
//! launch a layer ([`ShaderNetwork::predict`]), a single sample one launch for all layers. What costs most is not the
//! arithmetic: each prediction's inputs go to the device and its outputs come back, so that one prediction loses to the CPU and
//! a batch may win. [`ShaderNetwork::count_correct`] leaves everything on the device but one number.
//!
//! Promised is the CPU's result to 1e-5 for finite inputs, weights and sums. WGSL lets a device treat NaN and infinity as it
//! likes and numbers below 1.2e-38 as zero.

mod adapter;
mod buffers;
mod error;
mod network;
pub mod notebook;
mod pipelines;
mod resident;
mod timed;

pub use adapter::Gpu;
pub use error::ShaderError;
pub use network::{Path, ShaderNetwork};
pub use resident::Resident;
pub use timed::Phases;
