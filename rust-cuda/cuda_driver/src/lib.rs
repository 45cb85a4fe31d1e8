//! The CUDA driver's functions, so that a program with cust links and starts on every machine.
//!
//! cust calls `cuInit`, `cuLaunchKernel` and the like, which are normally linked from NVIDIA's libcuda: without it such
//! a program neither links nor starts. This crate defines functions of those names. Each opens the driver's library
//! when the first of them is called, looks its own symbol up once, and hands every call on.
//!
//! A program names the crate once, and asks before it uses a GPU:
//!
//! ```
//! match cuda_driver::availability() {
//!     Ok(version) => println!("CUDA {version}"),
//!     Err(reason) => println!("no GPU: {reason}"),
//! }
//! ```
//!
//! A program that asks nothing must still name the crate, or it is not linked: `use cuda_driver as _;`.
//!
//! # What the functions return where the driver cannot answer
//!
//! | case | result |
//! |---|---|
//! | the library cannot be opened | `CUDA_ERROR_NO_DEVICE`, in cust `CudaError::NoDevice` |
//! | the library lacks the function | `CUDA_ERROR_NOT_FOUND`, and [`missing_symbols`] names it |
//! | the driver returns an error that CUDA 11.4 did not have | `CUDA_ERROR_UNKNOWN` |
//!
//! The last is because `cust_raw` has the results as a Rust enum, in which any other number is undefined behaviour.
//! `cuGetErrorName` and `cuGetErrorString` always succeed: cust's errors are displayed through the latter, and a
//! `Display` that fails panics in `to_string`.
//!
//! # Which library
//!
//! `libcuda.so.1`, where the system's loader finds it, then where WSL and NixOS keep it; on Windows `nvcuda.dll`. The
//! environment variable `CUDA_DRIVER_LIBRARY` names another file instead; tests name a stand-in, or a file that is not
//! there.

mod availability;
mod error;
mod forwarders;
mod library;
mod symbol;

pub use availability::{DriverVersion, Unavailable, availability};
pub use forwarders::SYMBOLS;
pub use library::library_path;
pub use symbol::missing_symbols;
