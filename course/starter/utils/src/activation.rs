use ndarray::{Array2, ArrayRef2};

/// 1 / (1 + e⁻ˣ) of each element; for x = −1000 it is 0, for 1000 it is 1.
pub fn sigmoid(x: &ArrayRef2<f64>) -> Array2<f64> {
    // write: sigmoid
    x.mapv(|x| 1.0 / (1.0 + (-x).exp()))
    // end
}

/// The derivative of the sigmoid of each element: σ(x) · (1 − σ(x)).
pub fn sigmoid_prime(x: &ArrayRef2<f64>) -> Array2<f64> {
    // write: sigmoid_prime
    sigmoid(x).mapv(|s| s * (1.0 - s))
    // end
}
