//! What the page in `docs/draw` computes: pen strokes become an image of MNIST's format, the homework's network, trained on
//! MNIST, reads the digit, and the image is compared with averages of MNIST's digits. The network can be trained a step.
//!
//! The page runs this crate as WebAssembly, the tests run it natively; both need only `core`, `libm` and `rand`.
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
