//! Part 1's functions, for the judge.

use grader::{Answer, Functions, Matrix};
use ndarray::{Array1, Array2};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use utils::{add_elementwise, create_batches, random_weights, sigmoid, sigmoid_prime, zeros_biases, zeros_weights};

type Layers = Vec<Matrix<f64>>;

fn arrays(list: Layers) -> Vec<Array2<f64>> {
    list.into_iter().map(|Matrix(array)| array).collect()
}

fn matrices(list: impl Answer<Value = Vec<Array2<f64>>>) -> Result<Layers, String> {
    Ok(list.answer()?.into_iter().map(Matrix).collect())
}

fn main() -> std::io::Result<()> {
    Functions::default()
        .with("sigmoid", |x: Matrix<f64>| Ok(Matrix(sigmoid(&x.0))))
        .with("sigmoid_prime", |x: Matrix<f64>| Ok(Matrix(sigmoid_prime(&x.0))))
        .with("random_weights", |(sizes, seed): (Vec<usize>, [u8; 32])| {
            matrices(random_weights(&sizes, &mut ChaCha8Rng::from_seed(seed)))
        })
        .with("zeros_weights", |sizes: Vec<usize>| matrices(zeros_weights(&sizes)))
        .with("zeros_biases", |sizes: Vec<usize>| {
            let biases: Vec<Array1<f64>> = zeros_biases(&sizes).answer()?;
            Ok(biases.iter().map(|biases| biases.to_vec()).collect::<Vec<_>>())
        })
        .with("create_batches", |(data, labels, size): (Matrix<f64>, Matrix<f64>, usize)| {
            let batches = create_batches(&data.0, &labels.0, size).answer()?;
            Ok(batches.into_iter().map(|(x, y)| (Matrix(x.to_owned()), Matrix(y.to_owned()))).collect::<Vec<_>>())
        })
        .with("add_elementwise", |(a, b): (Layers, Layers)| matrices(add_elementwise(&arrays(a), &arrays(b))))
        .serve()
}
