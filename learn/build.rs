//! Provides the kernels' PTX.

use std::path::Path;

#[path = "../rust-cuda/cuda_std/build/kernel_crate.rs"]
mod kernel_crate;

fn main() {
    println!("cargo::rerun-if-changed=../rust-cuda/cuda_std/build");
    let builder = |&arch| kernel_crate::builder(Path::new("."), arch);
    cuda_builder::provide("learn", kernel_crate::OLDEST.iter().map(builder));
}
