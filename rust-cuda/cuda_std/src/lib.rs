//! What a GPU kernel may use, with Rust-CUDA's names: thread indices, barriers of a block and of the grid, shared
//! memory, warps and atomics.
//!
//! A kernel is written once, with [`kernel`]. Compiled for `nvptx64-nvidia-cuda` it becomes PTX, and everything here
//! becomes the instruction it names. Compiled for the host, the same source runs in the [`simulator`], which needs no
//! GPU and reports what a GPU would silently get wrong: indices out of bounds, reads of memory that nobody wrote,
//! races, barriers that not every thread reaches, and lanes missing from a warp's operation.
//!
//! ```
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{GlobalMut, LaunchConfig, kernel, thread};
//!
//! /// out[i] = the larger of a[i] and b[i].
//! #[kernel]
//! pub fn vector_max(a: &[f32], b: &[f32], out: GlobalMut<f32>) {
//!     let i = thread::index_1d() as usize;
//!     if i < out.len() {
//!         out.set(i, a[i].max(b[i]));
//!     }
//! }
//!
//! let a = SimulatorBuffer::from_slice(&[1.0, 5.0, 3.0]);
//! let b = SimulatorBuffer::from_slice(&[4.0, 2.0, 6.0]);
//! let mut out = SimulatorBuffer::uninitialized(3);
//! let report = simulator::launch(&vector_max, LaunchConfig::for_elements(3, 128), (&a, &b, &mut out))?;
//! assert_eq!(out.to_vec(), [4.0, 5.0, 6.0]);
//! assert_eq!((report.global_loads, report.global_stores), (6, 3));
//! # Ok::<(), simulator::LaunchError>(())
//! ```
//!
//! # Barriers of the grid
//!
//! In a launch of [`LaunchConfig::cooperative`](LaunchConfig::cooperative) all blocks are resident at once, and
//! [`grid::sync`] makes them wait for each other. A training step of many small parts is then one launch:
//!
//! ```
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{GlobalMut, LaunchConfig, grid, kernel, thread};
//!
//! /// Turns x around its middle, `rounds` times.
//! #[kernel]
//! pub fn turn_around(x: GlobalMut<u32>, rounds: u32, barrier: GlobalMut<u32>) {
//!     let i = thread::index_1d() as usize;
//!     for _ in 0..rounds {
//!         let mirrored = x.get(x.len() - 1 - i);
//!         grid::sync(barrier);
//!         x.set(i, mirrored);
//!         grid::sync(barrier);
//!     }
//! }
//!
//! let mut x = SimulatorBuffer::from_slice(&[1, 2, 3, 4, 5, 6]);
//! let mut barrier = SimulatorBuffer::filled(0, 1);
//! simulator::launch(&turn_around, LaunchConfig::new(3, 2).cooperative(), (&mut x, 3, &mut barrier))?;
//! assert_eq!(x.to_vec(), [6, 5, 4, 3, 2, 1]);
//! # Ok::<(), simulator::LaunchError>(())
//! ```
//!
//! A device takes as many blocks as it can run at once, and no more. A grid that is right on every device is therefore
//! made from what the device says, and the kernel's threads share out the work by `thread::grid_dim_x`.
//!
//! A crate of kernels begins with
//! `#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]`.

#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics, core_float_math),
    allow(internal_features, improper_ctypes)
)]

// The kernels of this crate's own documentation and tests name it as any other crate does.
extern crate self as cuda_std;

mod element;
pub mod math;
mod print;
mod scalar;
mod vector;

#[cfg(target_arch = "nvptx64")]
mod nvptx;
#[cfg(target_arch = "nvptx64")]
pub use nvptx::{DynamicShared, Global, GlobalMut, SharedArray, atomic, dynamic_shared, grid, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
mod launch_config;
#[cfg(not(target_arch = "nvptx64"))]
mod launcher;
#[cfg(not(target_arch = "nvptx64"))]
mod ptx;
#[cfg(not(target_arch = "nvptx64"))]
pub use ptx::Ptx;
#[cfg(not(target_arch = "nvptx64"))]
pub mod simulator;
#[cfg(not(target_arch = "nvptx64"))]
pub use launch_config::{Dim3, LaunchConfig, LimitError};
#[cfg(not(target_arch = "nvptx64"))]
pub use launcher::{ArgumentError, BufferMut, BufferRef, Kernel, Memory, RawParameters};
#[cfg(not(target_arch = "nvptx64"))]
pub use simulator::{DynamicShared, Global, GlobalMut, SharedArray, atomic, dynamic_shared, grid, thread, warp};

pub use element::{AtomicElement, Element};
pub use scalar::Scalar;
pub use vector::F32x4;

/// Makes a GPU kernel of a function.
///
/// The function's parameters are
/// - `&[T]`: memory that the kernel only reads. Its body sees a [`Global<T>`](Global), which indexes like a slice and
///   counts and checks in the simulator; a function that the body calls takes `Global<T>` too.
/// - [`GlobalMut<T>`](GlobalMut): memory that the kernel writes;
/// - a number, by value ([`Scalar`]).
///
/// where T is an [`Element`]. It returns nothing, is not generic and not `async`.
///
/// On `nvptx64` it becomes the PTX entry of the same name, in which a slice is two parameters, an address and a length.
/// On the host it becomes a value of that name that implements `Kernel`: what [`simulator::launch`] and a CUDA
/// device launch. Its arguments' types are checked there: `&buffer` for `&[T]`, `&mut buffer` for `GlobalMut<T>`.
pub use cuda_std_macros::kernel;

/// Declares an array in the block's shared memory: `let tile = shared_array![f32; 32 * 32];`.
///
/// All threads of a block get the same [`SharedArray`]. It holds nothing until the kernel writes to it. The length
/// may name constants of the module, not of the function.
pub use cuda_std_macros::shared_array;
