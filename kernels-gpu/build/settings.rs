//! How the kernels become PTX: shared by the build script and by `cargo xtask ptx`, so that both mean the same.

use std::path::Path;

use cuda_builder::{Arch, CudaBuilder};

#[path = "../../rust-cuda/cuda_std/build/kernel_crate.rs"]
pub(crate) mod kernel_crate;

/// The kernels that always run as one block of 1024 threads. Told so, the assembler gives each thread the 64 registers
/// that there are for it.
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

/// The kernels that run as blocks of 256 threads, at least two of them on a multiprocessor at once.
const BLOCKS_OF_256: [&str; 10] = [
    "network_forward_16",
    "network_forward_64",
    "network_backward_16",
    "network_backward_64",
    "network_update_16",
    "network_update_64",
    "network_gradient_16",
    "network_gradient_64",
    "network_output",
    "network_evaluate",
];

/// The kernel that has a multiprocessor for each block of 256 threads, and with it all registers that a thread can have.
const WHOLE_MULTIPROCESSOR: &str = "network_train_persistently";

/// The builder of the PTX for one architecture; `kernels` is this crate's folder.
pub(crate) fn builder(kernels: &Path, arch: Arch) -> CudaBuilder {
    let builder = kernel_crate::builder(kernels, arch).launch_bounds(WHOLE_MULTIPROCESSOR, 256, 1);
    let builder = BLOCKS_OF_256.iter().fold(builder, |builder, kernel| builder.launch_bounds(kernel, 256, 2));
    ONE_BLOCK.iter().fold(builder, |builder, kernel| builder.launch_bounds(kernel, 1024, 1))
}
