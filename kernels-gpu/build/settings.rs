//! How the kernels become PTX: shared by the build script and by `cargo xtask ptx`, so that both mean the same.

use std::path::Path;

use cuda_builder::{Arch, CudaBuilder};

/// The architectures whose PTX is committed: the oldest that is supported, whose PTX runs on all later ones, and the one
/// that the kernels are tuned for.
pub(crate) const ARCHS: [Arch; 2] = [Arch::Sm75, Arch::Sm90];

/// The kernels that always run as one block of 1024 threads. Told so, the assembler gives each thread the 64 registers that
/// there are for it.
const ONE_BLOCK: [&str; 10] = [
    "matmul_naive_f32",
    "matmul_naive_f64",
    "matmul_symmetric_f32",
    "matmul_symmetric_f64",
    "matmul_tiles_f32",
    "matmul_tiles_f64",
    "matmul_registers_f32",
    "matmul_registers_f64",
    "matmul_kernel_f32",
    "matmul_kernel_f64",
];

/// The builder of the PTX for one architecture; `kernels` is this crate's folder.
pub(crate) fn builder(kernels: &Path, arch: Arch) -> CudaBuilder {
    let cuda_std = kernels.join("../rust-cuda/cuda_std/src");
    let mut builder = CudaBuilder::new(kernels)
        .arch(arch)
        .committed_dir(kernels.join("ptx"))
        .host_only(cuda_std.join("simulator"))
        .host_only(cuda_std.join("launcher.rs"))
        .host_only(cuda_std.join("launch_config.rs"));
    if arch == Arch::Sm75 {
        // Of CUDA 11.0, which the driver must be at least. The default, 6.3, lacks what later kernels need.
        builder = builder.ptx_version(7, 0);
    }
    ONE_BLOCK.iter().fold(builder, |builder, kernel| builder.launch_bounds(kernel, 1024, 1))
}
