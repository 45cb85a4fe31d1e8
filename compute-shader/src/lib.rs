//! The forward pass of a [`neural_net::Network`] as compute shaders, on any GPU or on a software adapter.
//!
//! The shaders in `src/shaders` are in WGSL; wgpu translates them for Vulkan, Metal, DirectX 12 or
//! OpenGL. A batch takes one launch per layer ([`ShaderNetwork::predict`]), a single sample one
//! launch for all layers. The bound is the transfer, not the arithmetic: each prediction copies its
//! inputs to the device and its outputs back. A single prediction is therefore slower than on the
//! CPU, and a batch may be faster. [`ShaderNetwork::count_correct`] keeps all data on the device
//! and reads back one integer.
//!
//! Outputs agree with the CPU's to 1e-5 for finite inputs, weights and sums. WGSL allows a device
//! to assume that NaN and infinity do not occur, and to flush numbers below 1.2e-38 to zero.

mod adapter;
mod buffers;
mod description;
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
