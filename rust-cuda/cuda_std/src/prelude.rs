//! What most kernels use: `use cuda_std::prelude::*;`. As in Rust-CUDA's prelude, `println!`, `assert!`, `assert_eq!`, `assert_ne!` and
//! `panic!` are those of kernels, which speak on a GPU.

pub use crate::{
    AtomicElement, ByValue, Element, F32x4, Global, GlobalMut, assert, assert_eq, assert_ne, block, dynamic_shared,
    grid, kernel, math, panic, println, shared_array, thread, warp,
};
