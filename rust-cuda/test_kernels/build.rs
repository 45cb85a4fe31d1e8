//! Provides the kernels' PTX: the committed one while it is fresh, else one that is built.

#[path = "../cuda_std/build/kernel_crate.rs"]
mod kernel_crate;

use std::env;
use std::path::PathBuf;

fn main() {
    if cuda_builder::compiling_kernels() {
        return;
    }
    println!("cargo::rerun-if-changed=../cuda_std/build");
    let kernels = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for arch in kernel_crate::ARCHS {
        let builder = kernel_crate::builder(&kernels, arch).copy_to(out.join(format!("test_kernels.{arch}.ptx")));
        if let Err(error) = builder.build() {
            error.stop_the_build();
        }
    }
}
