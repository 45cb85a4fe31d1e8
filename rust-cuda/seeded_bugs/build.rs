//! Provides the kernels' PTX.

#[path = "../cuda_std/build/kernel_crate.rs"]
mod kernel_crate;
#[path = "../cuda_std/build/provide.rs"]
mod provide;

fn main() {
    println!("cargo::rerun-if-changed=../cuda_std/build");
    provide::provide("seeded_bugs", &kernel_crate::ARCHS, kernel_crate::builder);
}
