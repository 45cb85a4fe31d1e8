//! Every GPU kernel of the workspace, in Rust, and the PTX generated from it.
//!
//! The same source is compiled twice: to PTX for a GPU ([`PTX`]), and for the host, where it runs in
//! [`cuda_std::simulator`].
//!
//! *Invariant:* this crate does not depend on a driver; its kernels are plain data.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]

pub mod greyscale;
pub mod latency;
pub mod maximum;
pub mod network;
pub mod product;

#[cfg(not(target_arch = "nvptx64"))]
pub use cuda_std::PtxVariant;

/// The kernels' PTX per target architecture, in ascending order. A GPU runs the last one not newer than itself.
#[cfg(not(target_arch = "nvptx64"))]
pub static PTX: [PtxVariant; 2] = cuda_std::compiled_kernels!("kernels_gpu");
