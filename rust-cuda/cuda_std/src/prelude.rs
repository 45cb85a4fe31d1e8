//! What most kernels use: `use cuda_std::prelude::*;`, with `println!`, which speaks on a GPU.
//!
//! `panic!`, `assert!`, `assert_eq!` and `assert_ne!` are not here: `core` has macros of these names, and Rust rejects a name that a
//! glob import and `core` have. The body of a kernel has those of `cuda_std` without an import. A function that a kernel calls gets them
//! by `#[macro_use] extern crate cuda_std;` in the library's root, or by their names: `use cuda_std::panic;`.

pub use crate::{
    AtomicElement, ByValue, Element, F32x4, Global, GlobalMut, I32x4, block, dynamic_shared, grid, kernel, math,
    println, shared_array, thread, warp,
};
