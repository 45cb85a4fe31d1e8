//! Ten small kernels to learn by, in order; `docs/learn` has a page for each.
//!
//! A step's module has the kernel to write and, where the step is about speed, the kernel before it. [`wrong`] has each
//! step's kernel with one mistake, [`slips`] with two others.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod slips;
pub mod step01_index;
pub mod step02_grid_stride;
pub mod step03_rows_and_columns;
pub mod step04_atomics;
pub mod step05_shared_memory;
pub mod step06_tree;
pub mod step07_shuffles;
pub mod step08_transposition;
pub mod step09_tiles;
pub mod step10_double_buffer;
pub mod wrong;

#[cfg(not(target_arch = "nvptx64"))]
pub mod host;

/// The kernels' PTX for each architecture, oldest first. A GPU runs the last one that is not newer than itself.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: [cuda_std::PtxVariant; 1] = cuda_std::compiled_kernels!("learn");
