//! Compiles a crate of GPU kernels to PTX, NVIDIA's assembly language, from a build script.
//!
//! The name and the interface follow [Rust-CUDA](https://github.com/Rust-GPU/Rust-CUDA). The back
//! end is rustc's own `nvptx64-nvidia-cuda` target, which needs neither an old LLVM nor the CUDA
//! toolkit. It does need the source of `core`, which most machines lack. The PTX is therefore also
//! committed, and [`CudaBuilder::build`] handles three cases:
//!
//! 1. The committed PTX is fresh: it is used. Nothing is compiled, and no toolchain is searched
//!    for.
//! 2. It is stale, and there is a toolchain that can build PTX: the PTX is built, with a warning
//!    that names the command to refresh the committed file.
//! 3. It is stale, and there is no such toolchain: the kernels run only in the simulator. The build
//!    prints a one-line warning and marks the text as stale ([`STALE`]), which a loader of PTX must
//!    reject. With the environment variable [`STRICT_VARIABLE`] set to 1, the build fails with
//!    [`BuilderError::NoToolchain`], which lists the toolchains that were tried, why each was
//!    rejected, and the commands that install one.
//!
//! PTX is fresh if the [`Fingerprint`] in the file's header equals the fingerprint of the current
//! sources, flags and architecture. The compiler's version is recorded in the header but is *not*
//! part of the fingerprint: PTX from another rustc stays fresh.
//!
//! A crate with kernels, or with functions for kernels, may list host-only sources in its
//! Cargo.toml. Changes there leave the PTX fresh:
//!
//! ```toml
//! [package.metadata.cuda_builder]
//! host_only = ["src/simulator"]
//! host_only_features = ["progress-bar"]
//! ```
//! Sources of its programs (`src/main.rs`, `src/bin`) need not be listed. Kernels are compiled with
//! the features of their crate's own build, except the listed ones. Committed PTX with other
//! features is stale.
//!
//! # A build script
//! ```no_run
//! use cuda_builder::{Arch, CudaBuilder};
//!
//! fn main() {
//!     let builder = |arch| CudaBuilder::new(".").arch(arch).committed_dir("ptx");
//!     cuda_builder::provide("kernels", [Arch::Sm75, Arch::Sm90].map(builder));
//! }
//! ```
//! and in the library `cuda_std::compiled_kernels!("kernels")`. A script that does something else
//! with the PTX calls [`CudaBuilder::build`], unless [`compiling_kernels`] returns true because the
//! script runs for the kernels' own compilation.
//!
//! # Source lines
//! The PTX has a `.loc` directive with the source line of each instruction. For inlined functions
//! from other crates, that is the line of the call in the kernels' own crate. Line 0 marks
//! instructions without a single source line. File names start with the package, such as
//! `my-kernels/src/lib.rs` and `core/src/num/f32.rs`, so the text is the same on every machine. The
//! directives do not change the machine code.
//!
//! # Debug names
//! A file beside the PTX contains the names of functions and variables: `kernels.sm_75.debug`
//! beside `kernels.sm_75.ptx`. Only `kernel-debugger` reads it; programs do not contain it. It has
//! a digest of each function's text and applies only to that text.
//!
//! Tools can use [`CudaBuilder::rebuild`], [`CudaBuilder::check`], [`ptxas()`] and
//! [`generic_accesses()`].
//!
//! # Requirements on the kernel crate
//! The kernel crate needs `#![no_std]` and a panic handler on nvptx64. It must have no dependency
//! there with PTX that changes between versions: the fingerprint covers the version requirements in
//! Cargo.toml, not Cargo.lock.

mod arch;
mod builder;
mod compile;
mod debug_information;
mod environment;
mod error;
mod features;
mod files;
mod fingerprint;
#[path = "../../cuda_std_macros/src/float_methods.rs"]
mod float_methods;
mod functions;
mod generic_accesses;
mod groups;
mod header;
mod llvm_ir;
mod locked;
mod manifest;
mod messages;
mod modules;
mod outcome;
mod panic_texts;
mod panics;
mod postprocess;
mod provide;
mod ptx_items;
mod ptxas;
mod remainders;
mod source_lines;
mod source_names;
mod staleness;
mod std_methods;
mod tokens;
mod toolchain;

pub use arch::{Arch, UnknownArch};
pub use builder::CudaBuilder;
pub use error::BuilderError;
pub use fingerprint::Fingerprint;
pub use generic_accesses::{GenericAccess, generic_accesses};
pub use header::Header;
pub use outcome::{Comparison, Origin, Ptx, Rebuilt};
pub use provide::{Group, provide, provide_groups};
pub use ptxas::{KernelResources, PtxasError, PtxasReport, find_ptxas, ptxas};
pub use staleness::{HeaderError, Staleness};
pub use toolchain::{Candidate, RejectedCandidate, RejectionReason, Toolchain, find_toolchain, toolchain_candidates};

/// The target that rustc compiles kernels for.
pub const TARGET: &str = "nvptx64-nvidia-cuda";

/// Prefix of a stale text. The reason follows, up to the end of the line.
pub const STALE: &str = "// stale: ";

/// If this environment variable is 1, stale PTX without a toolchain is a build error.
pub const STRICT_VARIABLE: &str = "PTX_STRICT";

/// If this environment variable is 1, a build also writes newly compiled PTX to the committed path:
/// `PTX_UPDATE=1 cargo build`.
pub const UPDATE_VARIABLE: &str = "PTX_UPDATE";

/// Whether the calling build script runs for the GPU's target, where it must do nothing. If a
/// kernel crate's own build script calls [`CudaBuilder::build`], that call compiles the crate and
/// runs the script again.
pub fn compiling_kernels() -> bool {
    std::env::var_os("TARGET").is_some_and(|target| target == TARGET)
}
