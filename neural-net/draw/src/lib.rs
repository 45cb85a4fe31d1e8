//! The computations of the page in `docs/draw`. Pen strokes become an image in MNIST's format. The
//! homework's network, trained on MNIST, recognizes the digit. The image is also compared with
//! averages of MNIST's digits, and the network can be trained by single steps.
//!
//! The page runs this crate as WebAssembly; the tests run it natively. Both need only `core`,
//! `libm` and `rand`.
//! `cargo xtask draw` compiles it and assembles the page.

#![cfg_attr(target_arch = "wasm32", no_std)]

pub mod drawing;
#[cfg(target_arch = "wasm32")]
mod exports;
pub mod network;
#[cfg(not(target_arch = "wasm32"))]
pub mod prototypes;
#[cfg(not(target_arch = "wasm32"))]
pub mod quantised;
pub mod reading;
#[cfg(not(target_arch = "wasm32"))]
pub mod redrawn;
