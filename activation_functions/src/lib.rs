//! The exercise "Accelerate Neural Network Calculations": greyscale values are normalized, weighted
//! and activated.
//!
//! [`normalize`], [`weigh`] and [`activate`] are the definition, one loop each. The `_rayon`
//! functions run in parallel with SIMD kernels, and [`fused_rayon`] does so in one pass.
//! [`ActivationGpu`] has a kernel for each step and a fused one, on a GPU or, without one, on a
//! simulator.

mod on_gpu;
mod parallel;
mod trivial;
mod verify;

pub use on_gpu::{ActivationGpu, ActivationGpuError, Version, fused_gpu, label};
pub use parallel::{activate_rayon, fused_rayon, normalize_rayon, weigh_rayon};
pub use trivial::{activate, normalize, weigh};
pub use verify::{Step, TOLERANCE, TOLERANCE_FAST, verify};

/// The numbers of values and of weights differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{values} values and {weights} weights: give one weight for each value")]
pub struct LengthMismatch {
    /// Number of values.
    pub values: usize,
    /// Number of weights.
    pub weights: usize,
}

impl LengthMismatch {
    fn check(values: &[f32], weights: &[f32]) -> Result<(), Self> {
        let (values, weights) = (values.len(), weights.len());
        if values == weights { Ok(()) } else { Err(Self { values, weights }) }
    }
}
