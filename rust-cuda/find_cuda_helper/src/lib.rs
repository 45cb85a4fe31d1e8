//! A replacement of the crate `find_cuda_helper` of crates.io, with which cust builds without CUDA.
//!
//! The build scripts of cust and `cust_raw` call [`include_cuda`]. The original searches for a CUDA installation,
//! panics if there is none, and links libcuda, so that the program starts only with NVIDIA's driver. This one links
//! nothing: the crate `cuda_driver` defines the driver's functions and opens the library at run time.
//!
//! `[patch.crates-io]` in the workspace's Cargo.toml replaces the original. The original's other functions are missing,
//! because nothing calls them.

/// Tells cargo that the calling build script depends on nothing but itself.
///
/// The original's function of this name prints the path of CUDA.
pub fn include_cuda() {
    println!("cargo:rerun-if-changed=build.rs");
}
