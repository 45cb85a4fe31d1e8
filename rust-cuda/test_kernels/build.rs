//! Provides the kernels' PTX.

use std::path::Path;

#[path = "../cuda_std/build/kernel_crate.rs"]
mod kernel_crate;

fn main() {
    println!("cargo::rerun-if-changed=../cuda_std/build");
    let builder = |&arch| kernel_crate::builder(Path::new("."), arch);
    cuda_builder::provide("test_kernels", kernel_crate::OLDEST_AND_TUNED.iter().map(builder));
}
