//! Every GPU kernel of the workspace, in Rust, and the PTX made from it.
//!
//! The same source is compiled twice: to PTX for a GPU ([`PTX`]), and for the host, where it runs in
//! [`cuda_std::simulator`].
//!
//! *Invariant:* this crate knows no driver; a kernel is plain data to it.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]

pub mod greyscale;
pub mod maximum;
pub mod network;
pub mod product;

#[cfg(not(target_arch = "nvptx64"))]
pub use cuda_std::Ptx;

/// The kernels' PTX for each architecture, oldest first. A GPU runs the last one that is not newer than itself.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: [Ptx; 2] = [
    Ptx { compute_capability: (7, 5), text: include_str!(concat!(env!("OUT_DIR"), "/kernels_gpu.sm_75.ptx")) },
    Ptx { compute_capability: (9, 0), text: include_str!(concat!(env!("OUT_DIR"), "/kernels_gpu.sm_90.ptx")) },
];
