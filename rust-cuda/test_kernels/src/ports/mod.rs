//! Ports of the kernels of Rust-CUDA's examples and of cuda-oxide's: parameters of the same kinds and statements of the same
//! shape as the originals', in other words. `docs/ports.md` counts the lines of each original that differ.

pub mod cuda_oxide;
pub mod rust_cuda;
pub mod sha256;
