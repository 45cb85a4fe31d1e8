//! Times epochs of the regression studio's default network, 8-32-16-1 with Adam in batches of 128,
//! on random rows. `cargo xtask peers` runs it next to `xtask/peers/regressor.py`.

use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use command_line::{HomeworkOptions, counted, with_worker_threads};
use ndarray::Array2;
use neural_net::engine::{CpuEngine, Engine as _};
use neural_net::preset::Preset;
use neural_net::training::{Epochs, GradientScale, Optimizer, PartOfEpoch, initial_parameters};
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Samples};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use timing::{Report, measure};

/// Number of training rows in the studio's table of 800,000.
const ROWS: usize = 560_000;
/// Sizes of the layers.
const SIZES: [usize; 4] = [8, 32, 16, 1];
/// The limits ±√3 of a uniform distribution with variance 1.
const LIMIT: f32 = 1.732;
/// Largest accepted mean of half the squared errors after training. Half the targets' variance is 0.3.
const MAX_LOSS: f64 = 0.005;

/// Times epochs of the network 8-32-16-1 with ReLU on 560,000 rows
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
}

fn main() -> ExitCode {
    let Arguments { homework } = command_line::arguments();
    command_line::run(|| with_worker_threads(homework.cores, |threads| time_and_check(&homework, threads))?)
}

fn time_and_check(options: &HomeworkOptions, threads: usize) -> Result<ExitCode> {
    let samples = samples(options.seed)?;
    let hyperparameters = Hyperparameters {
        loss: Loss::SquaredError,
        optimizer: Optimizer::Adam,
        learning_rate: 0.003,
        momentum: 0.9,
        batch_size: Some(128),
        gradient: GradientScale::Mean,
        // Effectively unlimited.
        epochs: usize::MAX,
        shuffle: true,
        seed: options.seed,
        ..Preset::Homework.hyperparameters()
    };
    let architecture = Architecture::new(SIZES.to_vec(), Activation::Relu, Activation::Identity)?;
    let parameters = initial_parameters(architecture, &hyperparameters);
    let mut engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
    let (mut epochs, mut epoch, mut error) = (Epochs::new(hyperparameters, ROWS), 0, None);
    let measurement = measure(options.repeats, || {
        let steps = epochs.steps(epoch);
        let all = &mut |_| ControlFlow::Continue(());
        error = steps.train(&mut engine, &mut PartOfEpoch::default(), steps.count(), all).err().or(error.take());
        epoch += 1;
    });
    if let Some(error) = error {
        return Err(error.into());
    }
    let loss = engine.evaluate_training_samples()?.loss;
    let mut report = Report::new("time_regressor", options.json);
    report.fact("cores", threads);
    report.check("loss", if loss < MAX_LOSS { Ok(()) } else { Err(format!("{loss} is not below {MAX_LOSS}")) });
    report.time("Epoch", &format!(", {}", counted(threads, "thread")), measurement);
    Ok(report.finish())
}

/// Rows of values with mean 0 and variance 1, and the hyperbolic tangent of a linear function of
/// each row.
fn samples(seed: u64) -> Result<Samples> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut random = |shape| Array2::from_shape_simple_fn(shape, || rng.random_range(-LIMIT..LIMIT));
    let (inputs, weights): (Array2<f32>, Array2<f32>) = (random((ROWS, SIZES[0])), random((SIZES[0], 1)));
    let targets = inputs.dot(&weights).mapv(f32::tanh);
    Ok(Samples::new(inputs, targets)?)
}
