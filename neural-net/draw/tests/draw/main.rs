//! Compares the page in `docs/draw`, natively, in Node and in a browser, with the CPU's predictor.

mod browser;
mod images;
mod module;
mod node;
mod predictions;
mod prototypes;
mod readings;
mod strokes;
mod training;

use draw::drawing::PIXELS;
use draw::network::Weights;
use ndarray::{Array1, Array2};
use perceptron::network::argmax;
use perceptron::preset::Preset;
use perceptron::{Network, Predictor, Scalar};
use serde::Deserialize;

/// A prediction of the page's network.
#[derive(Debug, Deserialize)]
struct Answer {
    digit: usize,
    outputs: Vec<f32>,
}

/// A network with the page's weights and biases.
fn network_of<F: Scalar>(page: &draw::network::Network) -> Network<F> {
    let shapes = draw::network::SIZES.windows(2).map(|sizes| (sizes[0], sizes[1]));
    let converted = |values: &[f32]| -> Vec<F> { values.iter().map(|&value| F::from_f64(value.into())).collect() };
    let layers = page.layers().into_iter().zip(shapes).map(|((weights, biases), shape)| {
        (Array2::from_shape_vec(shape, converted(weights)).unwrap(), Array1::from(converted(biases)))
    });
    let (weights, biases) = layers.unzip();
    Network::new(Preset::Homework.architecture().unwrap(), weights, biases).unwrap()
}

/// The CPU's predictor with the page's weights.
fn predictor() -> Predictor {
    Predictor::new(&network_of(&draw::network::Network::new(Weights::Trained)))
}

/// Checks that an answer matches the predictor's: the same digit, and each output within 10⁻⁵.
fn require_same(predictor: &mut Predictor, image: &[u8], answer: &Answer) {
    let inputs: Vec<f32> = image.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
    let expected = predictor.predict(&inputs);
    let is_near = |(found, expected): (&f32, &f32)| (found - expected).abs() < 1e-5;
    let is_same = answer.outputs.len() == expected.len() && answer.outputs.iter().zip(expected).all(is_near);
    assert!(is_same && answer.digit == argmax(expected), "{answer:?} instead of {expected:?}");
}

/// 100 of the built-in digits: images of [`PIXELS`] bytes each, with their labels.
fn builtin_digits() -> (Vec<u8>, Vec<u8>) {
    digits::builtin_digits::draw(100, 0)
}

/// MNIST's test images with their labels. Without them, the calling test is skipped.
#[track_caller]
fn mnist() -> Option<(Vec<u8>, Vec<u8>)> {
    let directory = test_support::path_in("MNIST_DIR", test_support::Need::Mnist)?;
    let images = digits::idx::read_labelled_images(&directory, "t10k").unwrap();
    Some((images.pixels.iter().copied().collect(), images.labels))
}

/// Checks that all answers match the predictor's. Returns how many match the labels.
fn require_all_same(images: &[u8], labels: &[u8], answers: &[Answer]) -> usize {
    assert_eq!(answers.len(), labels.len());
    let mut predictor = predictor();
    images.chunks(PIXELS).zip(answers).for_each(|(image, answer)| require_same(&mut predictor, image, answer));
    answers.iter().zip(labels).filter(|(answer, label)| answer.digit == usize::from(**label)).count()
}

/// Checks that docs/network.md contains this text.
#[track_caller]
fn require_documented(text: &str) {
    assert!(include_str!("../../../../docs/network.md").contains(text), "docs/network.md lacks: {text}");
}
