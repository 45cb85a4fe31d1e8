//! Checks and recordings of a kernel's launch for a page: a JSON text in, a JSON text out.
//!
//! [`answer`] does the same on the host and in the WebAssembly module of `docs/lab/index.html`: what the page shows are
//! the faults, the lines and the counts of `kernel-check`, and the recording of `kernel-debugger`.

mod answers;
#[cfg(target_arch = "wasm32")]
mod exports;
mod names;
mod plain;
mod request;
mod results;
mod trace;

pub use answers::answer;
