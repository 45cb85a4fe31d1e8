//! The functions of CUDA's runtime library, by the names that they have in NVIDIA's. The runner puts the library in its place.

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

/// Names of the functions that do what they do in NVIDIA's library, by groups.
pub const RUNTIME_IMPLEMENTED: [&[&str]; 7] =
    [program::NAMES, arrays::NAMES, devices::NAMES, memory::NAMES, launches::NAMES, streams::NAMES, graphs::NAMES];

/// The functions with their parameters, by groups.
pub(super) const FUNCTIONS: [fn() -> Vec<Exported>; 7] = [
    program::functions,
    arrays::functions,
    devices::functions,
    memory::functions,
    launches::functions,
    streams::functions,
    graphs::functions,
];

/// The integer for a result, as C gets it, which is also the thread's last error.
fn returned(name: &str, body: impl FnOnce() -> Result) -> c_int {
    error::keep(super::returned(name, body))
}

/// As [`returned`], with a context that is current.
fn bound(name: &str, body: impl FnOnce() -> Result) -> c_int {
    returned(name, || {
        runtime::bind()?;
        body()
    })
}
