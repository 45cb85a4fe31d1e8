//! A replacement for `find_cuda_helper` on crates.io that lets cust build without a CUDA
//! installation.
//!
//! The build scripts of cust and `cust_raw` call [`include_cuda`]. The original searches for a CUDA
//! installation, panics if there is none, and links libcuda, so the program starts only if NVIDIA's
//! driver is installed. This version links nothing: the crate `cuda_driver` defines the driver's
//! functions and opens the library at run time.
//!
//! `[patch.crates-io]` in the workspace's Cargo.toml replaces the original. The original's other
//! functions are missing here because no code calls them.

/// Tells cargo to rerun the calling build script only if the script changes.
///
/// The original prints the directives that link libcuda.
pub fn include_cuda() {
    println!("cargo:rerun-if-changed=build.rs");
}
