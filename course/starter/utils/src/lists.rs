use ndarray::Array2;

/// The sums of the arrays of two lists, pair by pair: the gradients of two batches, for instance.
pub fn add_elementwise(a: &[Array2<f64>], b: &[Array2<f64>]) -> Vec<Array2<f64>> {
    // write: add_elementwise
    a.iter().zip(b).map(|(a, b)| a + b).collect()
    // end
}
