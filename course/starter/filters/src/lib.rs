//! Assignment 2: the correlation of an image with a kernel, and the edges of an image.

mod check;
mod filter;
mod kernel;
mod on_gpu;
mod parallel;
mod sobel;
mod trivial;

pub use check::{verify, verify_edges};
pub use filter::{EDGES, NEIGHBOURS, SCHARR, SOBEL, SOBEL_5X3, SOBEL_5X5};
pub use kernel::correlation_kernel;
pub use on_gpu::correlation_gpu;
pub use parallel::correlation_rayon;
pub use sobel::sobel_operator;
pub use trivial::correlation_trivial;
