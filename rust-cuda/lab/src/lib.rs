//! Checks and records a kernel's launch for a web page: JSON text in, JSON text out.
//!
//! [`answer`] behaves identically on the host and in the WebAssembly module of
//! `docs/lab/index.html`. So the page shows the same errors, lines and counts as `kernel-check`,
//! and the same recording as `kernel-debugger`.

mod answers;
#[cfg(target_arch = "wasm32")]
mod exports;
mod names;
mod plain;
mod request;
mod results;
mod trace;

pub use answers::answer;
