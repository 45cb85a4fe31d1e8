use rayon::prelude::*;

/// Maximum absolute error of a result, compared with double precision. Results are about 0…1.
pub const TOLERANCE: f64 = 1e-6;

/// [`TOLERANCE`] for the GPU's approximation of tanh, which has a relative error of 2⁻¹¹.
pub const TOLERANCE_FAST: f64 = 5e-4;

/// A step of the exercise. Its input is the result of the previous step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// x / 255.
    Normalize,
    /// Multiplication by the weight.
    Weigh,
    /// The hyperbolic tangent.
    Activate,
}

impl Step {
    /// All steps in order.
    pub const ALL: [Self; 3] = [Self::Normalize, Self::Weigh, Self::Activate];

    /// The result of all steps up to this one for a greyscale value and its weight, in double precision.
    pub fn exact(self, value: f32, weight: f32) -> f64 {
        let normalized = f64::from(value) / 255.0;
        match self {
            Self::Normalize => normalized,
            Self::Weigh => normalized * f64::from(weight),
            Self::Activate => (normalized * f64::from(weight)).tanh(),
        }
    }
}

/// Compares `results` with double precision. All steps up to `step` computed them from the
/// greyscale `values` and their `weights`. Returns the largest absolute error.
///
/// # Errors
/// The first error above `tolerance`, with its index, the value found and the value expected. Also
/// a length mismatch.
pub fn verify(step: Step, results: &[f32], values: &[f32], weights: &[f32], tolerance: f64) -> Result<f64, String> {
    if results.len() != values.len() || results.len() != weights.len() {
        return Err(format!("{} results for {} values and {} weights", results.len(), values.len(), weights.len()));
    }
    // A NaN counts as an infinite error.
    let error = |i: usize| match (f64::from(results[i]) - step.exact(values[i], weights[i])).abs() {
        error if error.is_nan() => f64::INFINITY,
        error => error,
    };
    let largest = (0..results.len()).into_par_iter().map(error).reduce(|| 0.0, f64::max);
    match (0..results.len()).into_par_iter().find_first(|&i| largest > tolerance && error(i) > tolerance) {
        Some(i) => Err(format!("element {i}: {} instead of {}", results[i], step.exact(values[i], weights[i]))),
        None => Ok(largest),
    }
}
