//! Provides the kernels' PTX.

use std::path::Path;

#[path = "build/settings.rs"]
mod settings;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=../rust-cuda/cuda_std/build");
    let builder = |&arch| settings::builder(Path::new("."), arch);
    cuda_builder::provide_groups("kernels_gpu", settings::ARCHS.iter().map(builder), &GROUPS);
}

/// The kernels of a program each, by the beginnings of their names.
const GROUPS: [cuda_builder::Group<'_>; 5] = [
    ("maximum", &["max_"]),
    ("product", &["matmul_"]),
    ("correlation", &["correlation_"]),
    ("greyscale", &["normalize_", "weigh_", "activate_"]),
    ("network", &["network_"]),
];
