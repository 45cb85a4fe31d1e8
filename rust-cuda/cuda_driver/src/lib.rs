//! The CUDA driver API, loaded at run time, so programs with cust link and start on every machine.
//!
//! cust calls driver functions such as `cuInit` and `cuLaunchKernel`, which are normally linked
//! from NVIDIA's libcuda: without it such a program neither links nor starts. This crate defines
//! functions with these names. The first call opens the driver's library. Each function looks up
//! its symbol once and forwards every call.
//!
//! Check the availability before you use a GPU:
//!
//! ```
//! match cuda_driver::availability() {
//!     Ok(version) => println!("CUDA {version}"),
//!     Err(reason) => println!("no GPU: {reason}"),
//! }
//! ```
//!
//! A program that does not check must still refer to the crate, or the crate is not linked:
//! `use cuda_driver as _;`.
//!
//! # Results without a driver call
//!
//! | case | result |
//! |---|---|
//! | the library cannot be opened | `CUDA_ERROR_NO_DEVICE`, in cust `CudaError::NoDevice` |
//! | the library lacks the function | `CUDA_ERROR_NOT_FOUND`, and [`missing_symbols`] names it |
//! | the driver returns an error newer than CUDA 11.4 | `CUDA_ERROR_UNKNOWN`; [`code_of`] returns the value |
//!
//! The last case is necessary because `cust_raw` represents results as a Rust enum, where any other
//! value is undefined behavior. `cuGetErrorName` and `cuGetErrorString` always succeed: cust
//! displays its errors through the latter, and a failing `Display` panics in `to_string`.
//!
//! # The driver's library
//!
//! The library is `libcuda.so.1` on the dynamic linker's search path, otherwise at its path in WSL,
//! NixOS and containers; on Windows it is `nvcuda.dll`. The environment variable
//! `CUDA_DRIVER_LIBRARY` overrides it. Tests set it to a stand-in, or to a file that does not
//! exist.

mod availability;
mod error;
mod forwarders;
mod launch_config;
mod library;
mod symbol;
mod unavailable;

pub use availability::availability;
pub use error::code_of;
pub use forwarders::SYMBOLS;
pub use launch_config::{allow_large_clusters, driver_version, launch_dependent, max_active_clusters};
pub use library::library_path;
pub use symbol::missing_symbols;
pub use unavailable::{DriverVersion, Unavailable};
