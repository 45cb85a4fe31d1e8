//! The settings with which a kernel crate that uses `cuda_std` is compiled to PTX. The crates' build scripts and
//! `cargo xtask ptx` share this file, so that both produce the same PTX.

#![allow(dead_code, reason = "each build script uses one of the lists")]

use std::path::Path;

use cuda_builder::{Arch, CudaBuilder};

/// The architectures of kernels that use what newer GPUs have: the oldest supported one, whose PTX runs on all later
/// ones, and the one that the kernels are tuned for.
pub(crate) const OLDEST_AND_TUNED: &[Arch] = &[Arch::Sm75, Arch::Sm90];

/// The architecture of kernels that are the same code on all: the oldest supported one.
pub(crate) const OLDEST: &[Arch] = &[Arch::Sm75];

/// The builder of the PTX for one architecture; `kernels` is the crate's directory.
pub(crate) fn builder(kernels: &Path, arch: Arch) -> CudaBuilder {
    let mut builder = CudaBuilder::new(kernels).arch(arch).committed_dir(kernels.join("ptx"));
    if arch == Arch::Sm75 {
        // PTX 7.0 needs a driver for CUDA 11.0 or later. The default, 6.3, lacks what later kernels need.
        builder = builder.ptx_version(7, 0);
    }
    builder
}
