//! Part 1's functions, called in the submission's process.

use grader::{Matrix, call, value};
use ndarray::{Array1, Array2};
use rand::rngs::ChaCha8Rng;

fn matrices(list: &[Array2<f64>]) -> Vec<Matrix<f64>> {
    list.iter().cloned().map(Matrix).collect()
}

fn arrays(list: Vec<Matrix<f64>>) -> Vec<Array2<f64>> {
    list.into_iter().map(|Matrix(array)| array).collect()
}

pub fn sigmoid(x: &Array2<f64>) -> Array2<f64> {
    value(call("sigmoid", &Matrix(x.clone()), x.len()).map(|Matrix(y)| y))
}

pub fn sigmoid_prime(x: &Array2<f64>) -> Array2<f64> {
    value(call("sigmoid_prime", &Matrix(x.clone()), x.len()).map(|Matrix(y)| y))
}

/// Number of weights between layers of these sizes.
fn weights_of(sizes: &[usize]) -> usize {
    sizes.windows(2).map(|pair| pair[0] * pair[1]).sum()
}

/// The submission has a generator of the same seed.
pub fn random_weights(sizes: &[usize], rng: &mut ChaCha8Rng) -> Vec<Array2<f64>> {
    value(call("random_weights", &(sizes, rng.get_seed()), weights_of(sizes)).map(arrays))
}

pub fn zeros_weights(sizes: &[usize]) -> Vec<Array2<f64>> {
    value(call("zeros_weights", &sizes, weights_of(sizes)).map(arrays))
}

pub fn zeros_biases(sizes: &[usize]) -> Vec<Array1<f64>> {
    let biases: Vec<Vec<f64>> = value(call("zeros_biases", &sizes, sizes.iter().sum()));
    biases.into_iter().map(Array1::from).collect()
}

pub fn create_batches(data: &Array2<f64>, labels: &Array2<f64>, batch_size: usize) -> Vec<(Array2<f64>, Array2<f64>)> {
    let batches: Vec<(Matrix<f64>, Matrix<f64>)> = value(call(
        "create_batches",
        &(Matrix(data.clone()), Matrix(labels.clone()), batch_size),
        data.len() + labels.len(),
    ));
    batches.into_iter().map(|(data, labels)| (data.0, labels.0)).collect()
}

pub fn add_elementwise(a: &[Array2<f64>], b: &[Array2<f64>]) -> Vec<Array2<f64>> {
    value(call("add_elementwise", &(matrices(a), matrices(b)), a.iter().map(Array2::len).sum()).map(arrays))
}
