//! Trains the homework's network and records its accuracy over time.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::thread::available_parallelism;

use gpu::Device;
use neural_net::data::{Dataset, ToSamples};
use neural_net::engine::{CpuEngine, Engine, GpuEngine, GpuOptions, Threads};
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Hyperparameters, Observer, Outcome, Progress, Validation, initial_parameters};
use neural_net::{Samples, Training as Trainer};

use super::THREADS;
use super::{MeasureError, Plan};
use crate::figures::{GpuTraining, Point, Run, StepTimes, Training};

const PRESET: Preset = Preset::Homework;

/// Points in the first epoch for measuring the accuracy, in epochs: denser while it rises fast.
const FIRST_MOMENTS: [f64; 6] = [1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0];
/// Interval between measurements after the first epoch, in epochs.
const INTERVAL: f64 = 0.5;
/// Phases are timed for the steps of this fraction of an epoch.
const EPOCH_PART: usize = 4;

/// The images of a training run.
struct Images {
    train: Samples,
    validation: Samples,
    test: Samples,
}

impl Images {
    fn of(dataset: &Dataset) -> Result<Self, MeasureError> {
        let (train, validation) = PRESET.images();
        let available = dataset.train.len();
        if available < train + validation || dataset.train.pixels.ncols() != PRESET.sizes()[0] {
            let name = &dataset.name;
            return Err(MeasureError::training(format!(
                "{name} has {available} training images of {} pixels; {} of 784 are needed",
                dataset.train.pixels.ncols(),
                train + validation
            )));
        }
        Ok(Self {
            train: dataset.train.samples(0, train),
            validation: dataset.train.samples(train, validation),
            test: dataset.test.samples(0, dataset.test.len()),
        })
    }
}

/// One training run per seed of the plan, on the processor with one thread per core. Calls
/// `progress` with each seed.
pub(super) fn on_the_processor(
    plan: &Plan,
    dataset: &Dataset,
    progress: &mut dyn FnMut(u64),
) -> Result<Training, MeasureError> {
    let images = Images::of(dataset)?;
    let (mut runs, mut device) = (Vec::new(), String::new());
    for seed in plan.seeds() {
        progress(seed);
        let hyperparameters = Hyperparameters { seed, ..PRESET.hyperparameters() };
        let architecture = PRESET.architecture().map_err(MeasureError::training)?;
        let parameters = initial_parameters(architecture, &hyperparameters);
        let engine = CpuEngine::new(&images.train, &parameters, &hyperparameters);
        let (run, engine) = train(engine, &images, hyperparameters)?;
        device = engine;
        runs.push(run);
    }
    let Hyperparameters { learning_rate, batch_size, epochs, .. } = PRESET.hyperparameters();
    Ok(Training {
        data: dataset.name.clone(),
        is_mnist: dataset.is_mnist,
        sizes: PRESET.sizes(),
        batch: batch_size.unwrap_or(images.train.len()),
        learning_rate,
        images: [images.train.len(), images.validation.len(), images.test.len()],
        epochs,
        device,
        target: PRESET.target_accuracy(),
        runs,
        steps: step_times(plan, &images)?,
    })
}

/// The phases of a step, for each number of threads that has enough cores. The numbers alternate.
fn step_times(plan: &Plan, images: &Images) -> Result<Vec<StepTimes>, MeasureError> {
    let hyperparameters = PRESET.hyperparameters();
    let parameters = initial_parameters(PRESET.architecture().map_err(MeasureError::training)?, &hyperparameters);
    let order: Vec<u32> = (0..).take(images.train.len() / EPOCH_PART).collect();
    let cores = available_parallelism().map_or(1, usize::from);
    let mut fastest: Vec<StepTimes> = Vec::new();
    for _ in 0..plan.rounds() {
        for threads in THREADS.into_iter().filter(|&threads| threads <= cores) {
            let mut engine = CpuEngine::new(&images.train, &parameters, &hyperparameters);
            engine.set_threads(Threads::Exactly(threads));
            engine.time_phases();
            engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).map_err(MeasureError::training)?;
            let times = engine.phase_times().expect("they are measured");
            let mean = |seconds: f64| seconds / times.steps.max(1) as f64;
            let step = StepTimes {
                threads,
                first_layer: mean(times.first_layer),
                other_layers: mean(times.other_layers),
                update: mean(times.update),
                meetings: mean(times.meetings),
            };
            match fastest.iter_mut().find(|fastest| fastest.threads == threads) {
                Some(fastest) if step.seconds() < fastest.seconds() => *fastest = step,
                Some(_) => {}
                None => fastest.push(step),
            }
        }
    }
    Ok(fastest)
}

/// One training run on a GPU.
pub(super) fn on_the_gpu(device: &Device, dataset: &Dataset) -> Result<GpuTraining, MeasureError> {
    let images = Images::of(dataset)?;
    let hyperparameters = PRESET.hyperparameters();
    let architecture = PRESET.architecture().map_err(MeasureError::training)?;
    let parameters = initial_parameters(architecture, &hyperparameters);
    let engine = GpuEngine::new(device, &images.train, &parameters, &hyperparameters, &GpuOptions::default());
    let (run, _) = train(engine.map_err(MeasureError::training)?, &images, hyperparameters)?;
    Ok(GpuTraining { data: dataset.name.clone(), curve: run.curve, test_accuracy: run.test_accuracy })
}

/// Trains, pausing at each moment for an evaluation. Evaluations do not count as training time.
/// Also returns the engine's device name.
fn train<E: Engine>(
    mut engine: E,
    images: &Images,
    hyperparameters: Hyperparameters,
) -> Result<(Run, String), MeasureError> {
    let seed = hyperparameters.seed;
    let steps = images.train.len().div_ceil(hyperparameters.batch_size.unwrap_or(images.train.len()).max(1));
    let mut moments: Vec<usize> = moments(hyperparameters.epochs, steps);
    let untrained = engine.evaluate(&images.validation).map_err(MeasureError::training)?.accuracy();
    let mut curve = vec![Point { epochs: 0.0, seconds: 0.0, accuracy: untrained }];
    let samples = images.train.len();
    let mut trainer = Trainer::new(engine, samples, hyperparameters, Progress::default());
    let mut stops = StopAtMoment { next: 0, curve: Vec::new() };
    moments.reverse();
    loop {
        let done = trainer.progress().epoch * steps + trainer.progress().step;
        while moments.last().is_some_and(|moment| *moment <= done) {
            moments.pop();
        }
        stops.next = moments.last().copied().unwrap_or(usize::MAX);
        let outcome =
            trainer.run(&Validation::Apart(&images.validation), &mut stops).map_err(MeasureError::training)?;
        curve.append(&mut stops.curve);
        if outcome != Outcome::Stopped {
            break;
        }
        let evaluation = trainer.engine_mut().evaluate(&images.validation).map_err(MeasureError::training)?;
        let progress = trainer.progress();
        let epochs = progress.epoch as f64 + progress.step as f64 / steps as f64;
        let seconds = seconds_of(&progress.history) + progress.seconds;
        curve.push(Point { epochs, seconds, accuracy: evaluation.accuracy() });
    }
    let test = trainer.engine_mut().evaluate(&images.test).map_err(MeasureError::training)?;
    let name = trainer.engine().device();
    Ok((Run { seed, curve, test_accuracy: test.accuracy() }, name))
}

/// The steps, counted over all epochs, at which training pauses for an evaluation. The ends of
/// epochs are excluded, since the trainer evaluates there.
fn moments(epochs: usize, steps: usize) -> Vec<usize> {
    let later = (1..).map(|count| 1.0 + INTERVAL * f64::from(count)).take_while(|moment| *moment < epochs as f64);
    let moments = FIRST_MOMENTS.into_iter().chain(later).map(|moment| (moment * steps as f64).round() as usize);
    let mut moments: Vec<usize> = moments.filter(|step| step % steps != 0).collect();
    moments.dedup();
    moments
}

fn seconds_of(history: &[EpochRecord]) -> f64 {
    history.iter().map(|record| record.seconds).sum()
}

/// An observer that stops a training run at step `next` and records the evaluations at the ends of
/// epochs.
struct StopAtMoment {
    next: usize,
    curve: Vec<Point>,
}

impl<E: Engine> Observer<E> for StopAtMoment {
    type Error = Infallible;

    fn step(&mut self, epoch: usize, step: usize, steps: usize) -> ControlFlow<()> {
        if (epoch - 1) * steps + step >= self.next { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, record: &EpochRecord, training: &Trainer<E>) -> Result<(), Infallible> {
        let seconds = seconds_of(&training.progress().history);
        self.curve.push(Point { epochs: record.epoch as f64, seconds, accuracy: record.accuracy });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accuracy_is_measured_often_while_it_rises_fast() {
        assert_eq!(moments(3, 64), [1, 2, 4, 8, 16, 32, 96, 160]);
        // The end of the epoch is excluded.
        assert_eq!(moments(1, 2), [1]);
    }
}
