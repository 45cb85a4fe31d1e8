//! Fast CPU kernels: slices in, slices out.
//!
//! Each module holds one kernel and explains its idea. A kernel's body is written once, either in
//! ordinary Rust that the compiler can vectorize or with `pulp`'s vectors. [`dispatch`] compiles it
//! for AVX-512, AVX2 with FMA and the portable baseline and picks one at run time, so a default
//! build is fast without `-C target-cpu=native`.
//!
//! This crate does not depend on a matrix library and uses no threads and no files. The crates
//! above it split the work.

pub mod activation;
pub mod caches;
pub mod correlation;
pub mod dispatch;
mod elementwise;
pub mod flush_to_zero;
pub mod greyscale;
pub mod lane_per_sample;
mod lanes;
pub mod maximum;
pub mod memory;
pub mod nonzero_product;
mod prefetch;
pub mod product;
mod real;
pub mod roofline;
pub mod softmax;
pub mod tanh;
pub mod transpose;
pub mod vector_product;

pub use dispatch::{InstructionSet, InstructionSetError};
pub use prefetch::{prefetch, prefetch_for_later, prefetch_for_writing};
pub use pulp::{Simd, WithSimd};
pub use real::Real;
