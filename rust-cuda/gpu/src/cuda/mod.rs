//! The CUDA backend, on top of cust.
//!
//! Everything here runs on the thread that opened the GPU: a [`Cuda`] is shared by `Rc`, also with
//! its buffers. Each operation makes its context current first ([`Cuda::enter`]), since another
//! device on the thread may belong to another GPU. The context is the GPU's primary context, which
//! all devices of the process share.

mod at_once;
mod capture;
mod context;
mod graph;
mod launch;
mod memory;
mod module;
mod modules;
mod pool;
mod properties;
mod queue;
mod speech;
mod staging;
mod status;
mod wait;

pub use properties::is_emulated;

pub(crate) use context::{Cuda, prepare};
pub(crate) use launch::CudaLaunch;
pub(crate) use memory::{CudaBuffer, CudaPinned};
