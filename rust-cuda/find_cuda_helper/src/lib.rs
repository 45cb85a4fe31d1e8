//! A replacement for `find_cuda_helper` on crates.io, so that cust builds without a CUDA installation.
//!
//! The build scripts of cust and `cust_raw` call [`include_cuda`]. The original searches for a CUDA installation,
//! panics if there is none, and links libcuda, so that the program starts only where NVIDIA's driver is installed. This
//! one links nothing: the crate `cuda_driver` defines the driver's functions and opens the library at run time.
//!
//! `[patch.crates-io]` in the workspace's Cargo.toml replaces the original. Its other functions are missing, because
//! nothing calls them.

/// Tells cargo to rerun the calling build script only if the script changes.
///
/// The original prints the directives that link libcuda.
pub fn include_cuda() {
    println!("cargo:rerun-if-changed=build.rs");
}
