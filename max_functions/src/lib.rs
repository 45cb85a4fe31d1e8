//! Homework part 2: the element-wise maximum of two matrices of integers.
//!
//! [`max_cpu`] is the definition, written as two loops. [`max_rayon`] runs in parallel with SIMD
//! kernels. [`max_gpu`] uses one thread per element, on a GPU or, without one, on a simulator.

mod on_gpu;
mod parallel;
mod random;
mod trivial;
mod verify;

pub use on_gpu::{MaxGpu, MaxGpuError, label, max_gpu};
pub use parallel::max_rayon;
pub use random::random_matrix;
pub use trivial::max_cpu;
pub use verify::verify;

/// The homework's rule for [`max_gpu`], compared with [`max_cpu`].
pub const RULE: timing::Rule = timing::Rule { factor: 40, baseline: "two plain loops on one core of the CPU" };

/// The two matrices have different shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("element-wise maximum of a {} × {} and a {} × {} matrix: the shapes must be the same", a.0, a.1, b.0, b.1)]
pub struct ShapeMismatch {
    /// Rows and columns of the first matrix.
    pub a: (usize, usize),
    /// Rows and columns of the second matrix.
    pub b: (usize, usize),
}

impl ShapeMismatch {
    fn check(a: (usize, usize), b: (usize, usize)) -> Result<(), Self> {
        if a == b { Ok(()) } else { Err(Self { a, b }) }
    }
}
