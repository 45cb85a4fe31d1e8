//! The functions of CUDA's runtime library, under the same names as in NVIDIA's. The runner
//! substitutes this library.

mod arrays;
mod devices;
mod graphs;
mod launches;
mod memory;
mod program;
mod streams;
mod unsupported;

use std::ffi::c_int;

use crate::error::Result;
use crate::exports::Exported;
use crate::runtime::{self, error};

pub use unsupported::UNSUPPORTED as RUNTIME_UNSUPPORTED;

/// Names of the functions that behave as in NVIDIA's library, by group.
pub const RUNTIME_IMPLEMENTED: [&[&str]; 7] =
    [program::NAMES, arrays::NAMES, devices::NAMES, memory::NAMES, launches::NAMES, streams::NAMES, graphs::NAMES];

/// The functions with their parameters, by group.
pub(super) const FUNCTIONS: [fn() -> Vec<Exported>; 7] = [
    program::functions,
    arrays::functions,
    devices::functions,
    memory::functions,
    launches::functions,
    streams::functions,
    graphs::functions,
];

/// Converts a result to the integer that C gets, and stores it as the thread's last error.
fn returned(name: &str, body: impl FnOnce() -> Result) -> c_int {
    error::keep(super::returned(name, body))
}

/// Like [`returned`], and makes a context current first.
fn bound(name: &str, body: impl FnOnce() -> Result) -> c_int {
    returned(name, || {
        runtime::bind()?;
        body()
    })
}
