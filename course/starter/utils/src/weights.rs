use ndarray::{Array1, Array2};
use rand::Rng;

/// Weights between adjacent layers, each drawn uniformly from ±1/√n for a layer with n inputs: with larger ones the
/// sigmoids saturate. `rng.random_range(low..high)` of `rand::RngExt` draws a number.
pub fn random_weights(sizes: &[usize], rng: &mut impl Rng) -> Vec<Array2<f64>> {
    // write: random_weights
    use rand::RngExt;
    let layer = |pair: &[usize]| {
        let bound = 1.0 / (pair[0] as f64).sqrt();
        Array2::from_shape_simple_fn((pair[0], pair[1]), || rng.random_range(-bound..bound))
    };
    sizes.windows(2).map(layer).collect()
    // end
}

/// Zeros of the shapes of the weights.
pub fn zeros_weights(sizes: &[usize]) -> Vec<Array2<f64>> {
    // write: zeros_weights
    sizes.windows(2).map(|pair| Array2::zeros((pair[0], pair[1]))).collect()
    // end
}

/// Zeros of the lengths of the biases: one for each unit of each layer but the first.
pub fn zeros_biases(sizes: &[usize]) -> Vec<Array1<f64>> {
    // write: zeros_biases
    sizes.iter().skip(1).map(|&size| Array1::zeros(size)).collect()
    // end
}
