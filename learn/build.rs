//! Provides the kernels' PTX.

#[path = "../rust-cuda/cuda_std/build/kernel_crate.rs"]
mod kernel_crate;
#[path = "../rust-cuda/cuda_std/build/provide.rs"]
mod provide;

fn main() {
    println!("cargo::rerun-if-changed=../rust-cuda/cuda_std/build");
    provide::provide("learn", &kernel_crate::ARCHS, kernel_crate::builder);
}
