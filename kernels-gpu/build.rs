//! Provides the kernels' PTX: the committed one while it is fresh, else one that is built.

#[path = "build/settings.rs"]
mod settings;

use std::env;
use std::path::PathBuf;

fn main() {
    if cuda_builder::compiling_kernels() {
        return;
    }
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=../rust-cuda/cuda_std/build");
    let kernels = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for arch in settings::kernel_crate::ARCHS {
        let builder = settings::builder(&kernels, arch).copy_to(out.join(format!("kernels_gpu.{arch}.ptx")));
        if let Err(error) = builder.build() {
            error.stop_the_build();
        }
    }
}
