//! Provides the kernels' PTX.

#[path = "../rust-cuda/cuda_std/build/provide.rs"]
mod provide;
#[path = "build/settings.rs"]
mod settings;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=../rust-cuda/cuda_std/build");
    provide::provide("kernels_gpu", &settings::kernel_crate::ARCHS, settings::builder);
}
