//! Provides the kernels' PTX.

use std::path::Path;

#[path = "../cuda_std/build/kernel_crate.rs"]
mod kernel_crate;

fn main() {
    println!("cargo::rerun-if-changed=../cuda_std/build");
    let builder = |&arch| kernel_crate::builder(Path::new("."), arch);
    cuda_builder::provide("seeded_bugs", kernel_crate::OLDEST.iter().map(builder));
}
