//! Times predictions of the notebook's network, 784-10-10, for one image or a batch per call.
//! `cargo xtask peers` runs it next to `xtask/peers/prediction.py`.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use command_line::{HomeworkOptions, counted, parse_size, with_worker_threads};
use ndarray::{Array2, s};
use neural_net::data::{Dataset, builtin_digits, find_mnist};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::{Network, Predictor};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use timing::{Measurement, Report, measure};

/// Maximum batch size: the number of images in MNIST's test set.
const MAX_BATCH: usize = 10_000;
/// Calls per repeat for a batch of one image. A repeat then takes far longer than reading the clock.
const CALLS: usize = 100;
/// Maximum difference of an output from [`Network::predict`].
const TOLERANCE: f32 = 1e-5;

/// Times predictions of a 784-10-10 network with ReLU and softmax
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
    /// Number of images that a call predicts, at most 10000
    #[arg(long, value_name = "N", num_args = 1.., default_values = ["1", "10", "100", "1000", "10000"], value_parser = parse_batch)]
    batch: Vec<NonZeroUsize>,
}

fn parse_batch(text: &str) -> Result<NonZeroUsize, String> {
    let size = parse_size(text)?;
    if size.get() > MAX_BATCH { Err(format!("at most {MAX_BATCH} images: choose a smaller batch")) } else { Ok(size) }
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| with_worker_threads(arguments.homework.cores, |threads| check_and_time(&arguments, threads))?)
}

fn check_and_time(arguments: &Arguments, threads: usize) -> Result<ExitCode> {
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;
    let largest = arguments.batch.iter().map(|batch| batch.get()).max().unwrap_or(1);
    let (dataset, images) = images(largest)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let network = Network::<f32>::random(Preset::Notebook.architecture()?, Initialization::Normal, &mut rng);
    let mut predictor = Predictor::new(&network);

    let mut report = Report::new("time_prediction", json);
    report.fact("dataset", dataset);
    report.fact("cores", threads);
    report.check("predict", check(&network, &images, |image| predictor.predict(image).to_vec()));
    let outputs = predictor.predict_all(images.view());
    let mut rows = outputs.outer_iter();
    report.check("predict_all", check(&network, &images, |_| rows.next().expect("an output for each image").to_vec()));
    if report.all_passed() {
        for &batch in &arguments.batch {
            let measurement = match batch.get() {
                1 => time_one(&mut predictor, &images, repeats),
                size => {
                    let images = images.slice(s![..size, ..]);
                    measure(repeats, || predictor.predict_all(images))
                }
            };
            report.time(&format!("Batch {batch}"), &format!(", {}", counted(threads, "thread")), measurement);
        }
    }
    Ok(report.finish())
}

/// The mean time of [`CALLS`] calls, since one is too short to measure.
fn time_one(predictor: &mut Predictor, images: &Array2<f32>, repeats: NonZeroUsize) -> Measurement {
    let image = images.row(0);
    let image = image.as_slice().expect("images are stored row by row");
    let Measurement { min, median, repeats } = measure(repeats, || {
        for _ in 0..CALLS {
            black_box(predictor.predict(black_box(image)));
        }
    });
    Measurement { min: min / CALLS as f64, median: median / CALLS as f64, repeats }
}

/// The data set's name, and the images as rows of values 0 … 1: MNIST's test images, or built-in
/// digits if MNIST is not found.
fn images(count: usize) -> Result<(String, Array2<f32>)> {
    let (name, pixels) = match find_mnist(None) {
        Some(directory) => {
            let dataset = Dataset::read(&directory)?;
            (dataset.name, dataset.test.pixels)
        }
        None => {
            let pixels = builtin_digits::draw(count, 0).0;
            ("built-in digits".to_owned(), Array2::from_shape_vec((count, builtin_digits::SIDE.pow(2)), pixels)?.into())
        }
    };
    anyhow::ensure!(pixels.nrows() >= count, "the test set has fewer images than the largest batch");
    Ok((name, pixels.slice(s![..count, ..]).mapv(|pixel| f32::from(pixel) / 255.0)))
}

/// Compares the outputs for each image with [`Network::predict`].
fn check(network: &Network, images: &Array2<f32>, mut predict: impl FnMut(&[f32]) -> Vec<f32>) -> Result<(), String> {
    for (index, image) in images.outer_iter().enumerate() {
        let image = image.as_slice().expect("images are stored row by row");
        let (found, expected) = (predict(image), network.predict(image));
        let close = |(found, expected): (&f32, &f32)| (found - expected).abs() <= TOLERANCE;
        if found.len() != expected.len() || !found.iter().zip(&expected).all(close) {
            return Err(format!("image {index}: {found:?} instead of {expected:?}"));
        }
    }
    Ok(())
}
