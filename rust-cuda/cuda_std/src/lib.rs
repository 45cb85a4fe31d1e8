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
//! # Safety model
//!
//! Safe code launches kernels that are written in safe code, and neither can reach memory that is not the launch's own. What that
//! rests on, and who upholds it:
//!
//! 1. **The code is the kernel's.** Only unsafe code makes a [`PtxVariant`] of a text or implements `Kernel`; `#[kernel]` and
//!    [`compiled_kernels!`] do it for compiled kernels. A launch compares the types of the parameters, which `#[kernel]` puts into
//!    the PTX as well ([`signature`]): a kernel never runs another's code because it has its name.
//! 2. **Every address is a buffer's.** An argument is `&buffer` or `&mut buffer`, whose address and length are passed together.
//!    The borrow checker rules out that a buffer which the kernel writes is passed twice, so what `&[T]` shows does not change
//!    during the launch. A buffer of another device is refused by name.
//! 3. **Every access is checked.** [`Global`], [`GlobalMut`], [`SharedArray`] and [`DynamicShared`] compare each index with the
//!    length, on a GPU too; outside, the kernel traps, and the error comes to light where the device is next waited for.
//!    All bits are a value of every [`Element`], so memory that was not written holds some value, never an invalid one.
//! 4. **Buffers outlive their launches.** A device has one queue: launches and copies run in order, and freeing a buffer waits
//!    for the launches that use it.
//! 5. **No thread waits for one that cannot run.** A kernel with a barrier of the grid is refused in a launch that is not
//!    cooperative, and a cooperative launch of more blocks than run at once is refused as well. Two barriers that not all threads
//!    reach still hang the GPU: that is a bug which the simulator and the interpreter of PTX report, and no harm to memory.
//!
//! **Data races.** Many threads share a [`GlobalMut`] or a [`SharedArray`], and nothing stops two of them from using one element
//! at once without a barrier between. In Rust on a CPU that is undefined behaviour. On a GPU the program computes something that
//! depends on the hardware's timing, and no more:
//! PTX gives racing programs a meaning, as its memory model does not require that there are no races
//! ([Lustig et al., 2019](https://doi.org/10.1145/3297858.3304043)); and to LLVM the value of a load that races with a store is
//! `undef` ([Language Reference, "Memory Model for Concurrent Operations"](https://llvm.org/docs/LangRef.html#memmodel)), a value
//! and not undefined behaviour. `undef` may differ from use to use, so that a loaded index could pass its check as one
//! number and reach memory as another. It cannot: an integer that is loaded from memory which a kernel writes passes through
//! an instruction of which LLVM knows nothing, and has one value from then on. A float that is loaded so and then converted
//! to an index has no such instruction; there the argument is that no pass of LLVM repeats a load which may have changed. Do
//! not write such kernels: the simulator and the interpreter report each race with both places.
//!
//! **Not promised:** that a kernel ends, that it computes the same each time if it has a race, that an allocation's bytes are
//! zero, and anything about code in `unsafe` blocks of a kernel.
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
pub mod signature;
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
pub use ptx::PtxVariant;
#[cfg(not(target_arch = "nvptx64"))]
pub mod simulator;
#[cfg(not(target_arch = "nvptx64"))]
pub use launch_config::{Dim3, LaunchConfig, LimitError};
#[cfg(not(target_arch = "nvptx64"))]
pub use launcher::{ArgumentError, BufferMut, BufferRef, Kernel, Memory, MemoryId, RawParameters};
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

/// The PTX of a crate's kernels that its build script has put into `OUT_DIR`, for each architecture, oldest first:
/// `cuda_std::compiled_kernels!("name")` is an array of two [`PtxVariant`]s.
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! compiled_kernels {
    ($name:literal) => {{
        // SAFETY: the build script had the texts compiled from the kernels of the crate that is being built, whose accesses
        // are checked against the lengths of their buffers.
        #[allow(unsafe_code)]
        const VARIANTS: [$crate::PtxVariant; 2] = unsafe {
            [
                $crate::PtxVariant::new((7, 5), include_str!(concat!(env!("OUT_DIR"), "/", $name, ".sm_75.ptx"))),
                $crate::PtxVariant::new((9, 0), include_str!(concat!(env!("OUT_DIR"), "/", $name, ".sm_90.ptx"))),
            ]
        };
        VARIANTS
    }};
}

/// Declares an array in the block's shared memory: `let tile = shared_array![f32; 32 * 32];`.
///
/// All threads of a block get the same [`SharedArray`]. It holds nothing until the kernel writes to it. The length
/// may name constants of the module, not of the function.
pub use cuda_std_macros::shared_array;
