//! Every GPU kernel of the workspace, in Rust, and the PTX made from it.
//!
//! The same source is compiled twice: to PTX for a GPU ([`PTX`]), and for the host, where it runs in
//! [`cuda_std::simulator`].
//!
//! *Invariant:* this crate knows no driver; a kernel is plain data to it.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]

pub mod maximum;
pub mod product;

/// The kernels' PTX for each architecture, oldest first. A GPU runs the last one that is not newer than itself.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: [Ptx; 2] = [
    Ptx { compute_capability: (7, 5), text: include_str!(concat!(env!("OUT_DIR"), "/kernels_gpu.sm_75.ptx")) },
    Ptx { compute_capability: (9, 0), text: include_str!(concat!(env!("OUT_DIR"), "/kernels_gpu.sm_90.ptx")) },
];

/// All kernels as PTX for one architecture.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// The compute capability that it needs at least, major and minor.
    pub compute_capability: (u32, u32),
    /// The PTX.
    pub text: &'static str,
}
