//! Compiles a crate of GPU kernels to PTX, NVIDIA's assembly language, from a build script.
//!
//! The name and the shape are [Rust-CUDA](https://github.com/Rust-GPU/Rust-CUDA)'s; the work is done by rustc's own
//! `nvptx64-nvidia-cuda` target, so that neither an old LLVM nor the CUDA toolkit is needed. What is needed is the
//! source of `core`, which a fresh machine does not have. The PTX is therefore also committed, and
//! [`CudaBuilder::build`] does one of three things:
//!
//! 1. The committed PTX is fresh: it is used. Nothing is compiled and no toolchain is looked for.
//! 2. It is stale, and there is a toolchain that can build PTX: the PTX is built, with a warning that names the way to
//!    refresh the committed one.
//! 3. It is stale, and there is no such toolchain: the build stops with [`BuilderError::NoToolchain`], which says where
//!    one was looked for, why each was refused, and which command installs one.
//!
//! Fresh means that the [`Fingerprint`] in the file's header is that of today's sources, flags and architecture. The
//! compiler's version is recorded beside it and is *not* part of it: who has another rustc need not build the PTX anew.
//!
//! # A build script
//! ```no_run
//! use cuda_builder::{Arch, BuilderError, CudaBuilder};
//!
//! fn main() {
//!     if cuda_builder::compiling_kernels() {
//!         return; // This script belongs to the kernel crate itself, and the crate is being compiled to PTX.
//!     }
//!     for arch in [Arch::Sm75, Arch::Sm90] {
//!         build(arch).unwrap_or_else(|error| error.stop_the_build());
//!     }
//! }
//!
//! fn build(arch: Arch) -> Result<(), BuilderError> {
//!     let out_dir = std::env::var("OUT_DIR").unwrap_or_default();
//!     CudaBuilder::new(".").arch(arch).committed_dir("ptx").copy_to(format!("{out_dir}/kernels.{arch}.ptx")).build()?;
//!     Ok(())
//! }
//! ```
//! and in the library `include_str!(concat!(env!("OUT_DIR"), "/kernels.sm_75.ptx"))`.
//!
//! # Source lines
//! The PTX says with `.loc` from which line each instruction comes. Where functions of other crates were inlined, the
//! line is that of the call in the kernels' own crate; line 0 stands for instructions that belong to no one line. Files
//! are named by their package, as `my-kernels/src/lib.rs` and `core/src/num/f32.rs`, so that the text is the same on
//! every machine. The assembler makes the same code with and without.
//!
//! For tools there are [`CudaBuilder::rebuild`], [`CudaBuilder::check`], [`ptxas()`] and [`generic_accesses()`].
//!
//! # What the kernel crate brings
//! `#![no_std]` and a panic handler on nvptx64, and no dependency there whose PTX would change with its version: the
//! fingerprint holds the requirements in Cargo.toml, not Cargo.lock.

mod arch;
mod builder;
mod compile;
mod error;
mod files;
mod fingerprint;
mod generic_accesses;
mod header;
mod manifest;
mod outcome;
mod postprocess;
mod ptxas;
mod source_lines;
mod source_names;
mod toolchain;

pub use arch::{Arch, UnknownArch};
pub use builder::CudaBuilder;
pub use error::BuilderError;
pub use fingerprint::Fingerprint;
pub use generic_accesses::{GenericAccess, generic_accesses};
pub use header::{Header, HeaderError, Staleness};
pub use outcome::{Comparison, Origin, Ptx, Rebuilt};
pub use ptxas::{KernelResources, PtxasError, PtxasReport, find_ptxas, ptxas};
pub use toolchain::{Candidate, Refusal, RefusalReason, Toolchain, find_toolchain, toolchain_candidates};

/// The target that rustc compiles kernels for.
pub const TARGET: &str = "nvptx64-nvidia-cuda";

/// Whether the build script that asks is run for the GPU's target. A kernel crate whose own build script calls
/// [`CudaBuilder::build`] is compiled by that call, which runs the script again; this is how it knows to do nothing
/// then.
pub fn compiling_kernels() -> bool {
    std::env::var_os("TARGET").is_some_and(|target| target == TARGET)
}
