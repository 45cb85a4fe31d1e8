//! The prediction behind the page in `docs/draw`: pen strokes become an image of MNIST's format, and the homework's
//! network, trained on MNIST, reads the digit.
//!
//! The page runs this crate as WebAssembly, the tests run it natively; both need only `core` and `libm`.
//! `cargo xtask draw` compiles it and assembles the page.

#![cfg_attr(target_arch = "wasm32", no_std)]

pub mod drawing;
#[cfg(target_arch = "wasm32")]
mod exports;
pub mod network;
#[cfg(not(target_arch = "wasm32"))]
pub mod quantised;
