//! The API of GPU kernels, with Rust-CUDA's names: thread indices, barriers of a block and of the grid, shared memory,
//! warps and atomics.
//!
//! A kernel is written once, with [`kernel`]. Compiled for `nvptx64-nvidia-cuda` it becomes PTX, and each function here
//! becomes the instruction that it names. Compiled for the host, the same source runs in the [`simulator`], which needs
//! no GPU and reports the bugs that a GPU does not report: indices out of bounds, reads of uninitialised memory, races,
//! barriers that not every thread reaches, and lanes missing from a warp-wide operation.
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
//! # Grid barriers
//!
//! In a launch of [`LaunchConfig::cooperative`](LaunchConfig::cooperative) all blocks are resident at once, and
//! [`grid::sync`] makes them wait for each other. A training step of many small kernels is then one launch:
//!
//! ```
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{GlobalMut, LaunchConfig, grid, kernel, thread};
//!
//! /// Reverses x, `rounds` times.
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
//! A device rejects a cooperative launch of more blocks than it can run at once. A program therefore derives the grid
//! from the device's limit, and the kernel uses a grid-stride loop, whose stride follows from `thread::grid_dim_x`.
//!
//! # Clusters
//!
//! In a launch with [`LaunchConfig::clusters_of`](LaunchConfig::clusters_of) the blocks form clusters, which GPUs from
//! sm_90 on run on neighbouring multiprocessors. The blocks of a cluster wait for each other by [`cluster::sync`], and
//! [`cluster::map_shared`] accesses each other's dynamic shared memory:
//!
//! ```
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{F32x4, GlobalMut, LaunchConfig, cluster, dynamic_shared, kernel, thread};
//!
//! /// Each block gets the value of the one before it in its cluster.
//! #[kernel]
//! pub fn pass_on(x: GlobalMut<f32>) {
//!     let shared = dynamic_shared::<F32x4>();
//!     let block = thread::block_idx_x() as usize;
//!     // All blocks have started before one writes to another's memory.
//!     cluster::sync();
//!     let next = (cluster::rank() + 1) % cluster::size();
//!     cluster::map_shared(&shared, next).set(0, F32x4::splat(x.get(block)));
//!     cluster::sync();
//!     x.set(block, shared.get(0).x);
//! }
//!
//! let mut x = SimulatorBuffer::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
//! let config = LaunchConfig::new(6, 1).clusters_of(3).with_dynamic_shared(16);
//! simulator::launch(&pass_on, config, (&mut x,))?;
//! assert_eq!(x.to_vec(), [3.0, 1.0, 2.0, 6.0, 4.0, 5.0]);
//! # Ok::<(), simulator::LaunchError>(())
//! ```
//!
//! Such a kernel is compiled for sm_90 and later only (`#[cfg(any(not(target_arch = "nvptx64"), target_feature =
//! "sm_90"))]`), with its cluster size as a setting of `cuda_builder`. No block of a kernel that maps other blocks' memory
//! ends before all of its cluster do: `cuda_builder` ends such a kernel by a barrier of the cluster.
//!
//! # Panics and overflow
//!
//! A panic stops the launch. The simulator and the interpreter of PTX say why, in the same words: `attempt to divide by
//! zero`, ``index 4 is outside of `x`, which has 4 elements``, `assertion failed: a < b`. In PTX a panic is a trap, and
//! `cuda_builder` writes its reason beside it as a comment, which costs nothing on a GPU. The values of a message such as
//! `panic!("x = {x}")` survive in the body of a kernel, and in functions with the macros of this crate (see [`prelude`]):
//! these send the values to the host, from a GPU too. Those of `core` leave `{x}` in the message.
//!
//! Integers that overflow in `+`, `-`, `*`, `<<` and `>>` **wrap in PTX**, as in every program that is compiled without
//! overflow checks. The simulator reports each as a fault of its own kind, `FaultKind::Overflow`, wherever the program that
//! it is part of has overflow checks: by default in Cargo's profile `dev`. Write `wrapping_add` and its like where
//! a kernel is meant to wrap. `CudaBuilder::overflow_checks` compiles the checks into PTX, for tests: there, an
//! overflow is a panic, and the interpreter reports it as the simulator does. `debug_assert!` is checked in the simulator
//! alone. Divisions by zero, `MIN / -1` and indices out of bounds panic everywhere.
//!
//! # Safety model
//!
//! Safe code launches kernels that are written in safe code, and neither can access memory outside of the launch's
//! buffers. This rests on five invariants:
//!
//! 1. **The PTX is the kernel's own.** Only unsafe code makes a [`PtxVariant`] from a text or implements `Kernel`;
//!    `#[kernel]` and [`compiled_kernels!`] do it for compiled kernels. A launch compares the types of the parameters
//!    with those that `#[kernel]` stores in the PTX ([`signature`]): a kernel never runs code of the same name that was
//!    compiled for other types.
//! 2. **Every address is that of a buffer.** An argument is `&buffer` or `&mut buffer`, whose address and length are
//!    passed together. The borrow checker rejects a launch that passes a buffer twice and writes it, so the contents of
//!    a `&[T]` do not change during the launch. A launch rejects a buffer of another device, and the error names the
//!    parameter.
//! 3. **Every access is checked.** [`Global`], [`GlobalMut`], [`SharedArray`] and [`DynamicShared`] compare each index
//!    with the length, on a GPU too; a [`SharedView`] is compared with the length when it is made, and each index with
//!    its size. [`ClusterShared`](cluster::ClusterShared) compares each index with the length, and
//!    [`cluster::map_shared`] the rank with the cluster's size; an [`mbarrier`] is in an array too; no block ends before the last access to its memory. An
//!    index out of bounds traps, and the next synchronisation with the device returns the error. Every bit
//!    pattern is a valid value of every [`Element`], so uninitialised memory holds some value, never an invalid one.
//! 4. **Buffers outlive their launches.** A device has one queue: launches and copies run in order, and freeing a
//!    buffer waits for the launches that use it.
//! 5. **No thread waits for one that cannot run.** A kernel with a grid barrier is rejected in a launch that is
//!    not cooperative, and so is a cooperative launch of more blocks than run at once.
//!
//! **Divergent barriers, shuffles and votes.** Nothing prevents a barrier that not all threads of a block reach, or a
//! warp's operation from which a lane of its mask is missing. PTX leaves both undefined: the behaviour of an `.aligned`
//! barrier in code that a warp does not execute as a whole (PTX ISA, "barrier"), of `shfl.sync` and `vote.sync` by a
//! thread that is not in its mask, and the value of a shuffle from a lane that takes no part. GPUs hang, or return
//! unspecified values; a returned index is compared with the length as any other. That nothing worse happens is how they
//! are built, not what PTX promises. The simulator and the PTX interpreter report each such barrier and operation.
//!
//! **Data races.** Many threads share a [`GlobalMut`] or a [`SharedArray`], and nothing prevents two of them from
//! accessing the same element without a barrier between the accesses. In Rust on a CPU that is undefined behaviour. On
//! a GPU the result depends on the hardware's timing, and there is no other effect. PTX defines the behaviour of
//! programs with data races: its memory model does not require race freedom ([Lustig et al.,
//! 2019](https://doi.org/10.1145/3297858.3304043)). To LLVM the value of a load that races with a store is `undef`
//! ([Language Reference, "Memory Model for Concurrent Operations"](https://llvm.org/docs/LangRef.html#memmodel)), a
//! value and not undefined behaviour.
//!
//! `undef` may differ from use to use, so that a loaded index could pass its check as one value and access memory as
//! another. This is ruled out for integers: each integer loaded from memory that a kernel writes passes through an
//! empty `asm!`, which is opaque to LLVM: after it, every use sees the same value. A float that is loaded from such
//! memory and then converted to an index has no such instruction; there the argument is that no LLVM pass repeats a
//! load whose value may have changed. Do not write kernels with data races: the simulator and the interpreter report
//! each race with both source locations.
//!
//! **Not promised:** that a kernel terminates, that a kernel with a race computes the same each time, that an
//! allocation's bytes are zero, and anything about code in `unsafe` blocks of a kernel.
//!
//! A kernel crate begins with `#![no_std]`, so that the host rejects what a GPU has not, and
//! `#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]`.

#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics, core_float_math),
    allow(internal_features, improper_ctypes)
)]

/// `std`, for code of the host in a crate of kernels, which has none: `use cuda_std::host_std::prelude::v1::*`.
#[cfg(not(target_arch = "nvptx64"))]
pub use ::std as host_std;

// The code that `#[kernel]` produces names this crate `cuda_std`, also in the crate itself.
extern crate self as cuda_std;

pub mod block;
mod element;
#[cfg(feature = "half")]
pub mod half;
pub mod hint;
pub mod math;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod matrix;
mod order;
pub mod prelude;
mod scalar;
pub mod signature;
pub mod speech;
mod strided;
mod vector;

#[cfg(target_arch = "nvptx64")]
mod nvptx;
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
pub use nvptx::Record;
#[cfg(target_arch = "nvptx64")]
pub use nvptx::{
    DynamicShared, Global, GlobalMut, GlobalQuads, GlobalReadView, GlobalView, SharedArray, SharedArray2d, SharedView,
    async_copy, atomic, dynamic_shared, grid, thread, warp,
};
#[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
pub use nvptx::{cluster, mbarrier};

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
pub use launch_config::{Dim3, LaunchConfig, LimitError, Schedule, Search};
#[cfg(not(target_arch = "nvptx64"))]
pub use launcher::{ArgumentError, BufferMut, BufferRef, Kernel, LaunchedNotCalled, Memory, MemoryId, RawParameters};
#[cfg(not(target_arch = "nvptx64"))]
pub use simulator::{
    DynamicShared, Global, GlobalMut, GlobalQuads, GlobalReadView, GlobalView, SharedArray, SharedArray2d, SharedView,
    async_copy, atomic, cluster, dynamic_shared, grid, mbarrier, thread, warp,
};

pub use element::{AtomicElement, AtomicInteger, Element, QuadElement};
pub use scalar::{ByValue, Scalar};
#[doc(hidden)]
pub use speech::__say;
pub use vector::{F32x4, I32x4};

/// Checks that elements of `bytes` bytes can be copied asynchronously.
const fn check_copied_size(bytes: usize) {
    core::assert!(matches!(bytes, 4 | 8 | 16), "asynchronous copies are of elements of 4, 8 or 16 bytes");
}

/// Turns a function into a GPU kernel.
///
/// The function's parameters are
/// - `&[T]`: memory that the kernel only reads. The body sees a [`Global<T>`](Global), which indexes like a slice and
///   whose accesses the simulator counts and checks; a function that the body calls takes `Global<T>` too.
/// - [`GlobalMut<T>`](GlobalMut): memory that the kernel writes;
/// - what is passed by value ([`ByValue`](trait@ByValue)): a [`Scalar`], an array, or a struct of them that [`plain_data!`]
///   declares or that derives `ByValue`. All parameters together have at most 4,096 bytes; a buffer takes 16.
///
/// where T is an [`Element`]: an integer of 8 to 128 bits, f32, f64, `F32x4`, `I32x4`, or with the feature `half` f16 and bf16.
/// The function returns nothing and is not `async`.
///
/// In the body, `out[i]` reads and writes an element of a `GlobalMut`, and of the variables that [`shared_array!`] and
/// [`dynamic_shared`] initialise: it is short for `out.get(i)` and `out.set(i, value)`, which functions that the body calls use. A name
/// stands for the variable of its scope: in a block, closure, loop or arm it may be another one.
///
/// A generic kernel lists its instances, each of which is an entry of the PTX: `#[kernel(f32, f64)]` for one parameter,
/// `#[kernel(<f32, 16>, <f64, 8>)]` for several. A launch infers the instance from its arguments, or names it, `&copy_each::<_, 8>`:
///
/// ```
/// use cuda_std::simulator::{self, SimulatorBuffer};
/// use cuda_std::{Element, GlobalMut, LaunchConfig, kernel, thread};
///
/// /// out[i] = x[i * N]
/// #[kernel(<f32, 2>, <u8, 2>, <u8, 3>)]
/// pub fn copy_each<T: Element, const N: usize>(x: &[T], out: GlobalMut<T>) {
///     let i = thread::index_1d() as usize;
///     if i < out.len() {
///         out[i] = x[i * N];
///     }
/// }
///
/// let x = SimulatorBuffer::from_slice(&[1_u8, 2, 3, 4]);
/// let mut out = SimulatorBuffer::uninitialized(2);
/// simulator::launch(&copy_each::<_, 3>, LaunchConfig::new(1, 2), (&x, &mut out))?;
/// assert_eq!(out.to_vec(), [1, 4]);
/// # Ok::<(), simulator::LaunchError>(())
/// ```
///
/// An `unsafe fn` also takes what Rust-CUDA's kernels take: `&[T]` is a slice of the language in its body, `*const T` and
/// `*mut T` are the addresses of buffers, and a value may be of any type that is `Copy` and has no padding; make it
/// `#[repr(C)]`, since host and GPU may lay out others differently. The simulator cannot check such accesses and rejects the
/// launch; the interpreter of PTX checks each. Its value comes from an unsafe function, whose caller promises that all launches of
/// the value keep the kernel's contract:
///
/// ```
/// use cuda_std::{kernel, thread};
///
/// /// # Safety
/// /// `c` has as many elements as `a`, and `b` has no fewer.
/// #[kernel]
/// pub unsafe fn vecadd(a: &[f32], b: &[f32], c: *mut f32) {
///     let idx = thread::index_1d() as usize;
///     if idx < a.len() {
///         unsafe { *c.add(idx) = a[idx] + b[idx] };
///     }
/// }
///
/// // SAFETY: the launches below pass buffers of the same length.
/// let vecadd = unsafe { vecadd() };
/// // device.launch(&vecadd, LaunchConfig::for_elements(n, 256), (&a, &b, &mut c))?;
/// # let _ = vecadd;
/// ```
///
/// On `nvptx64` it becomes the PTX entry of the same name, in which a slice is two parameters, an address and a length.
/// On the host it becomes a value of that name that implements `Kernel`, which [`simulator::launch`] and a CUDA device
/// launch. The compiler checks the types of its arguments: `&buffer` for `&[T]`, `&mut buffer` for `GlobalMut<T>`.
pub use cuda_std_macros::kernel;

/// Implements [`ByValue`](trait@ByValue) for a `#[repr(C)]` struct of which every field does, so that kernels take it by value.
/// A struct with padding does not compile: order the fields by size, largest first.
pub use cuda_std_macros::ByValue;

/// Declares an array in the block's shared memory: `let tile = shared_array![f32; 32 * 32];`.
///
/// All threads of a block get the same [`SharedArray`], or [`SharedArray2d`] of rows: `shared_array![[f32; 33]; 32]`. It is uninitialised until the kernel writes to it. The length
/// may name constants of the module and of the function.
pub use cuda_std_macros::shared_array;
