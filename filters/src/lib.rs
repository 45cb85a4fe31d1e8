//! Homework assignment 2, parts 3 and 4: the correlation of an image with a kernel, and the edge
//! filters built on it.
//!
//! [`correlation_trivial`] is the definition, written as four loops. [`correlation_rayon`] runs in
//! parallel with SIMD kernels and replaces the homework's `correlation_numba`. [`correlation_gpu`]
//! runs on a GPU or, without one, on a simulator. [`sobel_operator`] computes the strength of an
//! image's edges.
//!
//! The result has the image's shape, with zeros outside the image. For a kernel of *R* × *C*,
//!
//! > out\[i\]\[j\] = Σ kernel\[u\]\[v\] · image\[i + u − ⌊*R*/2⌋\]\[j + v − ⌊*C*/2⌋\],
//!
//! This is SciPy's `convolve2d(image, numpy.rot90(kernel, 2), mode='same')`, for odd and even
//! sizes, and also for a kernel larger than the image. The zeros outside the image are multiplied
//! like any other pixel: 0 · NaN is NaN.

mod filter;
mod on_gpu;
mod parallel;
pub mod picture;
mod pixel;
mod sobel;
mod trivial;
mod verify;

pub use filter::{EDGES, Filter, NEIGHBOURS, SCHARR, SOBEL, SOBEL_5X3, SOBEL_5X5};
pub use on_gpu::{CorrelationGpu, CorrelationGpuError, Rung, correlation_gpu, label};
pub use parallel::{correlation_rayon, factors};
pub use pixel::Pixel;
pub use sobel::sobel_operator;
pub use trivial::correlation_trivial;
pub use verify::Reference;
