//! The CUDA driver API, loaded at run time, so that a program with cust links and starts on every machine.
//!
//! cust calls driver functions such as `cuInit` and `cuLaunchKernel`, which are normally linked from NVIDIA's libcuda:
//! without it such a program neither links nor starts. This crate defines functions of those names. The first call
//! opens the driver's library; each function looks its symbol up once and forwards every call.
//!
//! A program checks the availability before it uses a GPU:
//!
//! ```
//! match cuda_driver::availability() {
//!     Ok(version) => println!("CUDA {version}"),
//!     Err(reason) => println!("no GPU: {reason}"),
//! }
//! ```
//!
//! A program that does not must still refer to the crate, or it is not linked: `use cuda_driver as _;`.
//!
//! # Results without a driver call
//!
//! | case | result |
//! |---|---|
//! | the library cannot be opened | `CUDA_ERROR_NO_DEVICE`, in cust `CudaError::NoDevice` |
//! | the library lacks the function | `CUDA_ERROR_NOT_FOUND`, and [`missing_symbols`] names it |
//! | the driver returns an error that CUDA 11.4 did not have | `CUDA_ERROR_UNKNOWN`, of which [`code_of`] has the value |
//!
//! The last is necessary because `cust_raw` has the results as a Rust enum, in which any other value is undefined
//! behaviour. `cuGetErrorName` and `cuGetErrorString` always succeed: cust's errors are displayed through the latter,
//! and a failing `Display` panics in `to_string`.
//!
//! # The driver's library
//!
//! `libcuda.so.1` on the dynamic linker's search path, else at its path in WSL, NixOS and containers; on Windows
//! `nvcuda.dll`. The environment variable `CUDA_DRIVER_LIBRARY` overrides it; tests set it to a stand-in, or to a file
//! that does not exist.

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
