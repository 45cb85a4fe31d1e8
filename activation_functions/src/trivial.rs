use crate::LengthMismatch;

/// Greyscale values 0…255 scaled to 0…1: each x / 255.
///
/// ```
/// assert_eq!(activation_functions::normalize(&[0.0, 51.0, 255.0]), [0.0, 0.2, 1.0]);
/// ```
pub fn normalize(values: &[f32]) -> Vec<f32> {
    let mut normalized = vec![0.0; values.len()];
    for i in 0..values.len() {
        normalized[i] = values[i] / 255.0;
    }
    normalized
}

/// Multiplies each value by its weight.
///
/// # Errors
/// If the numbers of values and weights differ.
///
/// ```
/// assert_eq!(activation_functions::weigh(&[0.5, 1.0], &[0.5, 0.25])?, [0.25, 0.25]);
/// # Ok::<(), activation_functions::LengthMismatch>(())
/// ```
pub fn weigh(values: &[f32], weights: &[f32]) -> Result<Vec<f32>, LengthMismatch> {
    LengthMismatch::check(values, weights)?;
    let mut weighed = vec![0.0; values.len()];
    for i in 0..values.len() {
        weighed[i] = values[i] * weights[i];
    }
    Ok(weighed)
}

/// Computes the hyperbolic tangent of each x by its definition, (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ), as in the
/// exercise.
///
/// Near 0, the subtraction cancels: the absolute error stays at a few 1e-8, however small x is.
/// Beyond about ±88.7, the exponential overflows and the result is NaN (∞ / ∞).
///
/// ```
/// assert_eq!(activation_functions::activate(&[0.0, 10.0, -10.0]), [0.0, 1.0, -1.0]);
/// ```
// report: begin activate
pub fn activate(values: &[f32]) -> Vec<f32> {
    let mut activated = vec![0.0; values.len()];
    for i in 0..values.len() {
        let x = values[i];
        activated[i] = (x.exp() - (-x).exp()) / (x.exp() + (-x).exp());
    }
    activated
}
// report: end activate
