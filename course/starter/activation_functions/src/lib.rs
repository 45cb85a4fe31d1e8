//! Homework part "activation", NVIDIA's exercise "Accelerate Neural Network Calculations": greyscale values 0 … 255 are
//! normalized, weighed and activated: y = tanh(x / 255 · w).

mod check;
mod kernels;
mod on_gpu;
mod trivial;

pub use check::verify;
pub use kernels::{activate_kernel, normalize_kernel, weigh_kernel};
pub use on_gpu::activation_gpu;
pub use trivial::{activate, normalize, weigh};
