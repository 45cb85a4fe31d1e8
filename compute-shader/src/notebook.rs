//! The notebook's network, 784-10-10, trained as in the notebook.

use std::convert::Infallible;
use std::ops::ControlFlow;

use neural_net::data::{LabelledImages, ToSamples};
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Observer, Progress, TrainingError, Validation, initial_parameters};
use neural_net::{CpuEngine, Engine, Network, Training};

/// An observer that never interrupts.
struct NoObserver;

impl<E: Engine> Observer<E> for NoObserver {
    type Error = Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn epoch(&mut self, _record: &EpochRecord, _training: &Training<E>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Trains the notebook's network on the CPU for `steps` full-batch steps, on as many of the first
/// images as the preset uses. The result is deterministic.
///
/// # Errors
/// If training diverges.
pub fn train(images: &LabelledImages, steps: usize) -> Result<Network, TrainingError<Infallible>> {
    let preset = Preset::Notebook;
    let mut hyperparameters = preset.hyperparameters();
    (hyperparameters.epochs, hyperparameters.report_every) = (steps, steps);
    let architecture = match preset.architecture() {
        Ok(architecture) => architecture,
        Err(error) => unreachable!("the preset's architecture is valid: {error}"),
    };
    let samples = images.samples(0, preset.images().0.min(images.len()));
    let parameters = initial_parameters(architecture, &hyperparameters);
    let engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
    let mut training = Training::new(engine, samples.len(), hyperparameters, Progress::default());
    training.run(&Validation::Training, &mut NoObserver)?;
    match training.engine().parameters() {
        Ok(parameters) => Ok(parameters.network),
        Err(error) => unreachable!("the CPU engine does not fail: {error}"),
    }
}
