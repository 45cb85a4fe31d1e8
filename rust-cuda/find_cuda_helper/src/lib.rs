//! Stands in for the crate `find_cuda_helper` of crates.io, so that cust builds where CUDA is not installed.
//!
//! The build scripts of cust and `cust_raw` call [`include_cuda`]. The original looks for a CUDA installation, panics
//! where there is none, and links libcuda, so that the program starts only where NVIDIA's driver is. This one links
//! nothing: the crate `cuda_driver` defines the driver's functions and opens the library when the first is called.
//!
//! `[patch.crates-io]` in the workspace's Cargo.toml puts it in the original's place. It has no other function of the
//! original, because nothing here calls one.

/// Tells cargo that the calling build script depends on nothing but itself.
///
/// It has the name of the original's function, which prints where CUDA is.
pub fn include_cuda() {
    println!("cargo:rerun-if-changed=build.rs");
}
