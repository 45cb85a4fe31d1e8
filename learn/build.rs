//! Provides the kernels' PTX: one of the steps and one of the puzzles.

use std::path::Path;

#[path = "../rust-cuda/cuda_std/build/kernel_crate.rs"]
mod kernel_crate;
#[path = "build/puzzles.rs"]
mod puzzles;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=../rust-cuda/cuda_std/build");
    let steps = |&arch| kernel_crate::builder(Path::new("."), arch);
    cuda_builder::provide("learn", kernel_crate::OLDEST.iter().map(steps));
    let puzzles = |&arch| puzzles::builder(Path::new("."), arch);
    cuda_builder::provide("puzzles", kernel_crate::OLDEST.iter().map(puzzles));
}
