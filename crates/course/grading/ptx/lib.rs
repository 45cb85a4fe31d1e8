//! The submission's kernels, compiled to PTX.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod KERNELS;

#[cfg(not(target_arch = "nvptx64"))]
pub static PTX: cuda_std::PtxVariant =
    // SAFETY: the interpreter alone runs it, which checks each access.
    unsafe { cuda_std::PtxVariant::new((7, 5), include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"))) };
