//! Training with and without distortions.

use std::ops::ControlFlow;

use augmentation::Distortion;
use neural_net::augmented::AugmentedEngine;
use neural_net::data::{Dataset, ToSamples};
use neural_net::engine::{CpuEngine, Engine, Parameters};
use neural_net::preset::Preset;
use neural_net::training::{EpochSteps, Hyperparameters, PartOfEpoch, initial_parameters};

use super::Plan;
use crate::Times;
use crate::figures::OnThreads;
use crate::measure::{MeasureError, pool};

const PRESET: Preset = Preset::Homework;

/// The figures of the training runs, and an image to distort.
pub(super) struct Trained {
    pub(super) data: String,
    pub(super) is_mnist: bool,
    pub(super) batch: usize,
    pub(super) images: [usize; 2],
    pub(super) plain: Times,
    pub(super) alone: Times,
    pub(super) workers: Vec<OnThreads>,
    pub(super) accuracies: [Vec<f64>; 2],
    pub(super) same_bits: bool,
    pub(super) image: Vec<u8>,
}

/// A training run: its number of workers, its engine and the times of its epochs.
struct Run<'a> {
    workers: Option<usize>,
    engine: Box<dyn Engine + Send + 'a>,
    seconds: Vec<f64>,
}

/// Trains the homework's network without distortions, and with distortions for each number of
/// workers. The runs alternate after each epoch. Training itself uses one thread, which leaves the
/// other cores to the workers.
pub(super) fn measure(plan: &Plan, dataset: &Dataset, progress: &mut dyn FnMut(&str)) -> Result<Trained, MeasureError> {
    let (count, _) = PRESET.images();
    let available = dataset.train.len();
    if available < count || dataset.train.shape != (augmentation::SIDE, augmentation::SIDE) {
        let (name, (rows, columns)) = (&dataset.name, dataset.train.shape);
        return Err(MeasureError::Training(format!(
            "{name} has {available} training images of {rows} × {columns} pixels; {count} of 28 × 28 are needed"
        )));
    }
    let (train, test) = (&dataset.train.samples(0, count), &dataset.test.samples(0, dataset.test.len()));
    let hyperparameters = Hyperparameters { seed: plan.seed, epochs: plan.epochs(), ..PRESET.hyperparameters() };
    let parameters = initial_parameters(PRESET.architecture().map_err(MeasureError::training)?, &hyperparameters);
    let alone = pool(1)?;
    let plain = Box::new(CpuEngine::new(train, &parameters, &hyperparameters));
    let mut runs = vec![Run { workers: None, engine: plain, seconds: Vec::new() }];
    for &workers in [0].iter().chain(plan.workers()) {
        let engine = AugmentedEngine::new(train, &parameters, &hyperparameters, Distortion::default(), workers);
        runs.push(Run { workers: Some(workers), engine: Box::new(engine), seconds: Vec::new() });
    }
    let mut accuracies = [const { Vec::new() }; 2];
    for epoch in 0..hyperparameters.epochs {
        progress(&format!("epoch {} of {}", epoch + 1, hyperparameters.epochs));
        let steps = EpochSteps::new(&hyperparameters, train.len(), epoch);
        for run in &mut runs {
            let mut done = PartOfEpoch::default();
            let epoch = || steps.train(&mut *run.engine, &mut done, steps.count(), &mut |_| ControlFlow::Continue(()));
            alone.install(epoch).map_err(MeasureError::training)?;
            run.seconds.push(done.seconds);
        }
        // The weights do not depend on the number of workers, so one evaluation serves all runs.
        for (run, accuracies) in runs.iter_mut().zip(&mut accuracies) {
            accuracies.push(run.engine.evaluate(test).map_err(MeasureError::training)?.accuracy());
        }
    }
    let weights = |run: &Run| run.engine.parameters().map_err(MeasureError::training);
    let augmented = runs[1..].iter().map(weights).collect::<Result<Vec<Parameters>, _>>()?;
    let same_bits = augmented.windows(2).all(|pair| pair[0] == pair[1]);
    let mut times = runs.into_iter().map(|run| {
        let times = Times::of(run.seconds).ok_or(MeasureError::NoTime { version: "an epoch" })?;
        Ok(OnThreads { threads: run.workers.unwrap_or(0), times })
    });
    let mut next = || times.next().unwrap_or(Err(MeasureError::NoTime { version: "an epoch" }));
    let (plain, by_itself) = (next()?.times, next()?.times);
    Ok(Trained {
        data: dataset.name.clone(),
        is_mnist: dataset.is_mnist,
        batch: hyperparameters.batch_size.unwrap_or(train.len()),
        images: [train.len(), test.len()],
        plain,
        alone: by_itself,
        workers: times.collect::<Result<_, _>>()?,
        accuracies,
        same_bits,
        image: dataset.train.pixels.row(0).to_vec(),
    })
}
