//! PTX build settings, shared by the build script and `cargo xtask ptx`, so that both generate the same PTX.

use std::path::Path;

use cuda_builder::{Arch, CudaBuilder};

#[path = "../../rust-cuda/cuda_std/build/kernel_crate.rs"]
pub(crate) mod kernel_crate;

/// The oldest supported architecture; the one from which on there are tensor cores for floats, as in RTX 30 and 40; and the one that the
/// kernels are tuned for.
pub(crate) const ARCHS: &[Arch] = &[Arch::Sm75, Arch::Sm80, Arch::Sm90];

/// Kernels launched as one block of 1024 threads. With this launch bound the assembler allots each thread up to 64
/// registers.
const ONE_BLOCK: [&str; 11] = [
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
    "matmul_resident_f32",
];

/// Kernels launched with blocks of 256 threads, at least two resident blocks per multiprocessor.
const BLOCKS_OF_256: [&str; 21] = [
    "correlation_fixed__3",
    "correlation_fixed__5",
    "correlation_fixed__7",
    "correlation_tiles",
    "correlation_registers",
    "network_forward_16",
    "network_forward_64",
    "network_forward_bytes_16",
    "network_forward_bytes_64",
    "network_backward_16",
    "network_backward_64",
    "network_update_16",
    "network_update_64",
    "network_update_bytes_16",
    "network_update_bytes_64",
    "network_gradient_16",
    "network_gradient_64",
    "network_gradient_bytes_16",
    "network_gradient_bytes_64",
    "network_output",
    "network_evaluate",
];

/// Kernels launched with blocks of 128 threads, one per multiprocessor: each thread may use the maximum of 255 registers.
const BLOCKS_OF_128: [&str; 1] = ["matmul_grid_f32"];

/// The kernels with one block of 256 threads per multiprocessor: each thread may use the maximum of 255 registers.
const ONE_BLOCK_PER_MULTIPROCESSOR: [&str; 2] = ["network_train_persistently", "network_train_homework"];

/// The same with tensor cores, for sm_80 and later.
const TENSOR_CORES: [&str; 10] = [
    "matmul_tensor_f32",
    "network_gradient_bytes_tensor",
    "network_train_small__12",
    "network_train_small__28",
    "network_train_small__84",
    "network_train_small__142",
    "network_train_small__244",
    "network_train_small__384",
    "network_train_small__844",
    "network_train_small__2442",
];

/// The kernels with clusters and how many blocks one has, of at most 256 threads each; for sm_90 and later.
const CLUSTERS: [(&str, u32); 7] = [
    ("network_train_cluster", 16),
    ("cluster_barriers", 16),
    ("cluster_loads", 16),
    ("cluster_exchanges__2", 2),
    ("cluster_exchanges__4", 4),
    ("cluster_exchanges__8", 8),
    ("cluster_exchanges__16", 16),
];

/// The kernels of a training step's launches and of greyscale values, which are launched in a row. Each waits for the launch before: on sm_90 and
/// later it begins while that one ends.
const IN_A_ROW: [&str; 27] = [
    "activate_kernel",
    "network_backward_16",
    "network_backward_64",
    "network_evaluate",
    "network_forward_16",
    "network_forward_64",
    "network_forward_bytes_16",
    "network_forward_bytes_64",
    "network_forward_bytes_tensor",
    "network_gradient_16",
    "network_gradient_64",
    "network_gradient_bytes_16",
    "network_gradient_bytes_64",
    "network_gradient_bytes_tensor",
    "network_last_layer",
    "network_next_step",
    "network_output",
    "network_update_16",
    "network_update_64",
    "network_update_bytes_16",
    "network_update_bytes_64",
    "network_update_by_adam",
    "network_update_from_parts",
    "normalize_kernel",
    "normalize_weigh_activate_fast_kernel",
    "normalize_weigh_activate_kernel",
    "weigh_kernel",
];

/// The PTX builder for one architecture; `kernels` is this crate's folder.
pub(crate) fn builder(kernels: &Path, arch: Arch) -> CudaBuilder {
    let builder = kernel_crate::builder(kernels, arch);
    let builder =
        ONE_BLOCK_PER_MULTIPROCESSOR.iter().fold(builder, |builder, kernel| builder.launch_bounds(kernel, 256, 1));
    let builder = BLOCKS_OF_128.iter().fold(builder, |builder, kernel| builder.launch_bounds(kernel, 128, 1));
    let builder = builder.launch_bounds("network_last_layer", 128, 8);
    let builder = BLOCKS_OF_256.iter().fold(builder, |builder, kernel| builder.launch_bounds(kernel, 256, 2));
    let builder = ONE_BLOCK.iter().fold(builder, |builder, kernel| builder.launch_bounds(kernel, 1024, 1));
    // Debuggers run the PTX for the oldest architecture, or for the one that the kernels are tuned for.
    let builder = builder.debug_file(arch != Arch::Sm80);
    let builder = match arch >= Arch::Sm80 {
        true => {
            let builder = TENSOR_CORES.iter().fold(builder, |builder, kernel| builder.launch_bounds(kernel, 256, 1));
            let builder = builder.launch_bounds("matmul_one_block_tensor_f32", 1024, 1);
            let builder = builder.launch_bounds("matmul_one_block_tensor_f64", 1024, 1);
            let builder = builder.launch_bounds("matmul_tensor_f64", 384, 1);
            builder.launch_bounds("network_forward_bytes_tensor", 384, 1)
        }
        false => builder,
    };
    match arch >= Arch::Sm90 {
        true => {
            // PTX ISA 8.1 has `st.async`.
            let builder = builder.ptx_version(8, 1);
            let builder = IN_A_ROW.iter().fold(builder, |builder, kernel| builder.dependent_launch(kernel));
            CLUSTERS.iter().fold(builder, |builder, (kernel, blocks)| {
                builder.launch_bounds(kernel, 256, 1).cluster(kernel, *blocks)
            })
        }
        false => builder,
    }
}
