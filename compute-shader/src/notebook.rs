//! The network that the lesson is about: 784-10-10, as the notebook trains it.

use std::convert::Infallible;
use std::ops::ControlFlow;

use neural_net::data::LabelledImages;
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Observer, Progress, TrainingError, Validation, initial_parameters};
use neural_net::{CpuEngine, Engine, Network, Training};

/// Nobody watches.
struct Nobody;

impl<E: Engine<f32>> Observer<f32, E> for Nobody {
    type Error = Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn epoch(&mut self, _record: &EpochRecord, _training: &Training<E>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Trains the notebook's network for so many full-batch steps on the first of these images, on the CPU. The same images give
/// the same network.
///
/// # Errors
/// If the training diverges.
pub fn train(images: &LabelledImages, steps: usize) -> Result<Network<f32>, TrainingError<Infallible>> {
    let preset = Preset::Notebook;
    let mut hyperparameters = preset.hyperparameters();
    (hyperparameters.epochs, hyperparameters.report_every) = (steps, steps);
    let architecture = match preset.architecture() {
        Ok(architecture) => architecture,
        Err(error) => unreachable!("the preset is a network: {error}"),
    };
    let samples = images.samples(0, preset.images().0.min(images.len()));
    let parameters = initial_parameters(architecture, &hyperparameters);
    let engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
    let mut training = Training::new(engine, samples.len(), hyperparameters, Progress::default());
    training.run(&Validation::Training, &mut Nobody)?;
    match training.engine().parameters() {
        Ok(parameters) => Ok(parameters.network),
        Err(error) => unreachable!("a CPU is never lost: {error}"),
    }
}
