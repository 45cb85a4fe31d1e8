//! Ten small kernels to learn by, in order; `docs/learn` has a page for each. Twenty smaller ones are the puzzles of
//! `docs/lab`.
//!
//! A step's module has the kernel to write and, where the step is about speed, the kernel before it. [`wrong`] has each
//! step's kernel with one mistake. [`puzzles`] has the puzzles' kernels, [`bugs`] the same kernels with one mistake each.
//!
//! Some puzzles have the name of a step's kernel, and PTX has one kernel of a name: the feature `puzzles`, which only the
//! build script sets, compiles the puzzles to PTX of their own.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

#[cfg(any(feature = "puzzles", not(target_arch = "nvptx64")))]
pub mod bugs;
#[cfg(any(feature = "puzzles", not(target_arch = "nvptx64")))]
pub mod puzzles;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step01_index;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step02_grid_stride;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step03_rows_and_columns;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step04_atomics;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step05_shared_memory;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step06_tree;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step07_shuffles;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step08_transposition;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step09_tiles;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod step10_double_buffer;
#[cfg(not(all(feature = "puzzles", target_arch = "nvptx64")))]
pub mod wrong;

#[cfg(not(target_arch = "nvptx64"))]
pub mod host;

/// The PTX of the steps' kernels for each architecture, oldest first. A GPU runs the last one that is not newer than itself.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: [cuda_std::PtxVariant; 1] = cuda_std::compiled_kernels!("learn");

/// The PTX of the puzzles' kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub const PUZZLES_PTX: [cuda_std::PtxVariant; 1] = cuda_std::compiled_kernels!("puzzles");
