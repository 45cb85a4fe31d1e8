/// Each value divided by 255.
pub fn normalize(values: &[f32]) -> Vec<f32> {
    // write: normalize
    values.iter().map(|x| x / 255.0).collect()
    // end
}

/// Each value times its weight.
pub fn weigh(values: &[f32], weights: &[f32]) -> Vec<f32> {
    // write: weigh
    values.iter().zip(weights).map(|(x, w)| x * w).collect()
    // end
}

/// The hyperbolic tangent of each value, by its definition (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ).
pub fn activate(values: &[f32]) -> Vec<f32> {
    // write: activate
    let tanh = |x: f32| (x.exp() - (-x).exp()) / (x.exp() + (-x).exp());
    values.iter().map(|&x| tanh(x)).collect()
    // end
}
