//! Every GPU kernel of the workspace, in Rust, and the PTX generated from it.
//!
//! The same source is compiled twice: to PTX for a GPU ([`ptx`]), and for the host, where it runs in
//! [`cuda_std::simulator`].
//!
//! *Invariant:* this crate does not depend on a driver; its kernels are plain data.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod correlation;
pub mod greyscale;
pub mod latency;
pub mod maximum;
pub mod network;
pub mod product;
#[cfg(not(target_arch = "nvptx64"))]
pub mod ptx;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod tensor_cores;

#[cfg(not(target_arch = "nvptx64"))]
pub use ptx::PTX;
