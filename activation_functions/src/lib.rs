//! The exercise "Accelerate Neural Network Calculations": greyscale values are normalized, weighed and activated.
//!
//! [`normalize`], [`weigh`] and [`activate`] are the definition, one loop each; the functions in `_rayon` are what a
//! processor can do, [`fused_rayon`] in one pass; [`ActivationGpu`] has a kernel for each step and one for all, on a GPU
//! or, where there is none, in a simulator.

mod on_gpu;
mod parallel;
mod trivial;
mod verify;

pub use on_gpu::{ActivationGpu, ActivationGpuError, Version, fused_gpu};
pub use parallel::{activate_rayon, fused_rayon, normalize_rayon, weigh_rayon};
pub use trivial::{activate, normalize, weigh};
pub use verify::{Step, TOLERANCE, TOLERANCE_FAST, verify};

/// There are not as many weights as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{values} values and {weights} weights: give one weight for each value")]
pub struct LengthMismatch {
    /// How many values there are.
    pub values: usize,
    /// How many weights there are.
    pub weights: usize,
}

impl LengthMismatch {
    fn check(values: &[f32], weights: &[f32]) -> Result<(), Self> {
        let (values, weights) = (values.len(), weights.len());
        if values == weights { Ok(()) } else { Err(Self { values, weights }) }
    }
}
