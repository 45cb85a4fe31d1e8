//! Given: trains a perceptron on MNIST with your functions of part 1. `cargo run -p train`

use std::convert::Infallible;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use command_line::{CHECK_FAILED, note, say};
use digits::{CLASSES, Dataset, LabelledImages};
use ndarray::{Array1, Array2, ArrayView2, Axis, array};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use teaching_tests::call;
use utils::{add_elementwise, create_batches, random_weights, sigmoid, sigmoid_prime, zeros_biases, zeros_weights};

/// The units of each layer, inputs first.
const SIZES: [usize; 4] = [784, 128, 64, CLASSES];
const LEARNING_RATE: f64 = 0.1;
const BATCH_SIZE: usize = 16;
/// Training images; the rest of the training set is for validation.
const TRAINING_IMAGES: usize = 50_000;
/// Images that are converted to f64 at once.
const CONVERTED: usize = 5000;
/// The accuracy that the homework asks for.
const TARGET: f64 = 0.95;

/// A perceptron 784-128-64-10, trained by backpropagation with the functions of part 1
#[derive(Parser)]
struct Arguments {
    /// Passes over the training images
    #[arg(long, default_value_t = 5)]
    epochs: usize,
    /// Folder of MNIST's files [default: $MNIST_DIR, data/mnist; without them, digits that are drawn]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Arguments { epochs, data } = command_line::arguments();
    command_line::run(|| {
        let unwritten = unwritten();
        if !unwritten.is_empty() {
            note!("Still to be written in utils/src: {}.", unwritten.join(", "));
            return Ok(ExitCode::from(CHECK_FAILED));
        }
        let dataset = Dataset::find(data.as_deref())?;
        let is_mnist_like = dataset.train.shape == (28, 28) && dataset.train.len() > TRAINING_IMAGES;
        anyhow::ensure!(is_mnist_like, "{}: more than {TRAINING_IMAGES} images of 28 × 28 are needed", dataset.name);
        call(|| Ok::<_, Infallible>(train(&dataset, epochs))).or_else(|error| {
            note!("A function of utils is wrong: {error}. cargo check-homework says which.");
            Ok(ExitCode::from(CHECK_FAILED))
        })
    })
}

/// The functions of part 1 that are not written.
fn unwritten() -> Vec<String> {
    fn message<T>(function: impl FnOnce() -> T) -> Option<String> {
        let error = call(|| Ok::<T, Infallible>(function())).err()?;
        Some(error.strip_prefix("not written yet: ")?.to_owned())
    }
    let x = array![[1.0]];
    let one = std::slice::from_ref(&x);
    let messages = [
        message(|| sigmoid(&x)),
        message(|| sigmoid_prime(&x)),
        message(|| random_weights(&[1, 1], &mut ChaCha8Rng::seed_from_u64(0))),
        message(|| zeros_weights(&[1, 1])),
        message(|| zeros_biases(&[1, 1])),
        message(|| create_batches(&x, &x, 1).len()),
        message(|| add_elementwise(one, one)),
    ];
    let mut names: Vec<String> = messages.into_iter().flatten().collect();
    // sigmoid_prime may call sigmoid.
    names.dedup();
    names
}

/// The weights and biases of each layer, or the gradients of the loss with respect to them.
struct Parameters {
    weights: Vec<Array2<f64>>,
    biases: Vec<Array1<f64>>,
}

impl Parameters {
    /// The activations of each layer for a batch of images, inputs first, and the sums z of all layers but the inputs.
    fn forward(&self, images: ArrayView2<f64>) -> (Vec<Array2<f64>>, Vec<Array2<f64>>) {
        let (mut activations, mut sums) = (vec![images.to_owned()], Vec::new());
        for (layer, (weights, biases)) in self.weights.iter().zip(&self.biases).enumerate() {
            let z = activations[layer].dot(weights) + biases;
            activations.push(sigmoid(&z));
            sums.push(z);
        }
        (activations, sums)
    }

    /// The gradients of the squared error ½ Σ (a − y)² of a batch by backpropagation.
    fn gradients(&self, images: ArrayView2<f64>, labels: ArrayView2<f64>) -> Self {
        let (activations, sums) = self.forward(images);
        let (mut weights, mut biases) = (zeros_weights(&SIZES), zeros_biases(&SIZES));
        let last = sums.len() - 1;
        let mut error = (&activations[last + 1] - &labels) * sigmoid_prime(&sums[last]);
        for layer in (0..=last).rev() {
            weights[layer] = activations[layer].t().dot(&error);
            biases[layer] = error.sum_axis(Axis(0));
            if layer > 0 {
                error = error.dot(&self.weights[layer].t()) * sigmoid_prime(&sums[layer - 1]);
            }
        }
        Self { weights, biases }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            weights: add_elementwise(&self.weights, &other.weights),
            biases: self.biases.iter().zip(&other.biases).map(|(a, b)| a + b).collect(),
        }
    }

    /// A step of gradient descent. Two threads compute the gradients of half a batch each, which are added.
    fn step(&mut self, images: ArrayView2<f64>, labels: ArrayView2<f64>) {
        let halves = create_batches(&images, &labels, BATCH_SIZE / 2);
        let gradients: Vec<Self> =
            halves.into_par_iter().map(|(images, labels)| self.gradients(images, labels)).collect();
        let Some(gradients) = gradients.into_iter().reduce(|a, b| a.plus(&b)) else { return };
        for (weights, gradient) in self.weights.iter_mut().zip(&gradients.weights) {
            weights.scaled_add(-LEARNING_RATE, gradient);
        }
        for (biases, gradient) in self.biases.iter_mut().zip(&gradients.biases) {
            biases.scaled_add(-LEARNING_RATE, gradient);
        }
    }

    /// The share of images whose largest output is that of their digit.
    fn accuracy(&self, images: &LabelledImages, indices: &[usize]) -> f64 {
        let right = indices.par_chunks(CONVERTED / 10).map(|indices| {
            let (activations, _sums) = self.forward(samples(images, indices).0.view());
            let outputs = &activations[activations.len() - 1];
            let digit = |output: &[f64]| (0..CLASSES).max_by(|&a, &b| output[a].total_cmp(&output[b]));
            let rows = outputs.outer_iter().zip(indices);
            rows.filter(|(output, index)| digit(&output.to_vec()) == Some(images.labels[**index].into())).count()
        });
        right.sum::<usize>() as f64 / indices.len() as f64
    }
}

/// Images as rows of 0 … 1, and their labels as rows with a one in the digit's column.
fn samples(images: &LabelledImages, indices: &[usize]) -> (Array2<f64>, Array2<f64>) {
    let pixels = images.pixels.select(Axis(0), indices).mapv(|pixel| f64::from(pixel) / 255.0);
    let mut labels = Array2::zeros((indices.len(), CLASSES));
    for (mut label, &index) in labels.outer_iter_mut().zip(indices) {
        label[usize::from(images.labels[index])] = 1.0;
    }
    (pixels, labels)
}

fn train(dataset: &Dataset, epochs: usize) -> ExitCode {
    let sizes = SIZES.map(|size| size.to_string()).join("-");
    say!("Data: {}.", dataset.name);
    say!(
        "Network: {sizes}, sigmoid, squared error; learning rate {LEARNING_RATE}, batches of {BATCH_SIZE}, {TRAINING_IMAGES} images."
    );
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut network = Parameters { weights: random_weights(&SIZES, &mut rng), biases: zeros_biases(&SIZES) };
    let mut order: Vec<usize> = (0..TRAINING_IMAGES).collect();
    let validation: Vec<usize> = (TRAINING_IMAGES..dataset.train.len()).collect();
    let (start, mut accuracy) = (Instant::now(), 0.0);
    for epoch in 1..=epochs {
        order.shuffle(&mut rng);
        for indices in order.chunks(CONVERTED) {
            let (images, labels) = samples(&dataset.train, indices);
            for (images, labels) in create_batches(&images, &labels, BATCH_SIZE) {
                network.step(images, labels);
            }
        }
        accuracy = network.accuracy(&dataset.train, &validation);
        say!("Epoch {epoch}, accuracy {:.2} %.", 100.0 * accuracy);
    }
    say!("Time to train: {:.2} seconds", start.elapsed().as_secs_f64());
    let test: Vec<usize> = (0..dataset.test.len()).collect();
    let percent = 100.0 * network.accuracy(&dataset.test, &test);
    say!("Test Accuracy: {percent:.2} % ({}, {} images)", dataset.name, test.len());
    if accuracy < TARGET {
        let target = 100.0 * TARGET;
        note!("The validation accuracy of {:.2} % is below the target of {target:.2} %.", 100.0 * accuracy);
        return ExitCode::from(CHECK_FAILED);
    }
    ExitCode::SUCCESS
}
