//! The settings of the puzzles' PTX, shared by the build script and `cargo xtask ptx`.

use std::path::Path;

use cuda_builder::{Arch, CudaBuilder};

use super::kernel_crate;

/// The builder of the puzzles' PTX for one architecture; `kernels` is the crate's directory.
pub(crate) fn builder(kernels: &Path, arch: Arch) -> CudaBuilder {
    let committed = kernels.join("ptx").join(format!("puzzles.{arch}.ptx"));
    kernel_crate::builder(kernels, arch).features(["puzzles"]).committed(committed)
}
