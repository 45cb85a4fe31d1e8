//! The CPU kernels agree with scalar loops on every instruction set.
//!
//! All tests are in one program, since each program instantiates many kernels.

mod activation;
mod correlation;
mod flush_to_zero;
mod lane_per_sample;
mod nonzero_product;
mod product;
mod roofline;
mod softmax;
mod vector_product;
