//! The two kinds of networks in training.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use neural_net::device::{OnDevice, OpenedDevice, TrainingDevice};
use neural_net::engine::{DeviceError, Engine, GpuOptions, Parameters};
use neural_net::network::Initialization;
use neural_net::training::{Epochs, GradientScale, PartOfEpoch, TrainingError, initial_parameters};
use neural_net::{Hyperparameters, Loss, Network, Predictor};
use table_network::{Options, Training};

use super::RunDevice;
use super::snapshot::State;
use crate::Settings;
use crate::prepared::{Part, Prepared};
use crate::saved_run::{RunProgress, TrainingState};
use crate::settings::NetworkKind;
use crate::sigmoid::Neuron;
use crate::trained::{self, Trained, TrainedPredictor};

/// A network between two steps.
pub(super) struct Current {
    pub(super) trained: Trained,
    /// Predicts by the weights as they are trained: before the gain and threshold of sigmoids are unfolded, which rounds.
    pub(super) predictor: TrainedPredictor,
}

/// A network that is trained, and what trains it.
pub(super) trait Learner {
    /// The device in words.
    fn device(&self) -> String;

    /// The device of further runs by the same choice, on like samples: not measured again, and the same one.
    fn same_device(&self, choice: TrainingDevice) -> TrainingDevice {
        choice
    }

    /// Steps of an epoch.
    fn steps(&self) -> usize;

    /// The number of rows that the first `step` steps of an epoch see.
    fn seen(&self, step: usize) -> usize;

    /// Number of permutations of the rows that it has computed.
    #[cfg(test)]
    fn permutations(&self) -> usize {
        0
    }

    /// Trains the rest of an epoch, or until `is_due` says so after a step.
    ///
    /// # Errors
    /// The final state of the run, if the device fails or the training diverges.
    fn train(&mut self, epoch: usize, part: &mut PartOfEpoch, is_due: &mut dyn FnMut() -> bool) -> Result<(), State>;

    /// Ends an epoch. The standardised outputs for the validation part.
    ///
    /// # Errors
    /// As [`Learner::train`].
    fn end_epoch(&mut self, validation: &Part) -> Result<Vec<f32>, State>;

    /// Notes that the epoch that has just ended is the best so far, if the state to resume from has the best network.
    fn keep_best(&mut self) {}

    /// The network now.
    ///
    /// # Errors
    /// The final state of the run, if the device fails.
    fn current(&self) -> Result<Current, State>;

    /// What the training can go on from, and the paper's network now, which is drawn. A device is read once.
    ///
    /// # Errors
    /// As [`Learner::current`].
    fn state(&self) -> Result<(TrainingState, Option<Network>), State>;
}

/// Opens the device of runs with these settings. The network made for tables trains on the CPU.
///
/// # Errors
/// The final state of the run, if the device is unavailable.
pub(crate) fn open_device(settings: &Settings) -> Result<RunDevice, State> {
    match settings.network.kind {
        NetworkKind::Table => Ok(OpenedDevice::Cpu(None)),
        NetworkKind::Layers => settings.training.device.open_shared(0).map_err(|error| needs_no_gpu(&error)),
    }
}

fn needs_no_gpu(error: &dyn Display) -> State {
    State::Failed(format!("{error}; the device \"cpu\" needs no GPU"))
}

/// A learner of the kind that the settings say, new or from where `state` is.
///
/// # Errors
/// The final state of the run, if the device cannot train the network, or the state does not fit.
pub(super) fn learner<'a>(
    settings: &Settings,
    prepared: &'a Prepared,
    state: Option<(TrainingState, RunProgress)>,
    opened: &RunDevice,
) -> Result<Box<dyn Learner + 'a>, State> {
    match (settings.network.kind, state) {
        (NetworkKind::Layers, None) => Ok(Box::new(Layers::new(settings, prepared, None, opened)?)),
        (NetworkKind::Layers, Some((TrainingState::Layers(parameters), _))) => {
            Ok(Box::new(Layers::new(settings, prepared, Some(parameters), opened)?))
        }
        (NetworkKind::Table, None) => Ok(Box::new(TableLearner::new(settings, prepared, None)?)),
        (NetworkKind::Table, Some((TrainingState::Table(state), progress))) => {
            Ok(Box::new(TableLearner::new(settings, prepared, Some((&state, progress)))?))
        }
        (_, Some(_)) => Err(State::Failed("the run is of another kind of network: start a new run".to_owned())),
    }
}

/// The paper's network.
struct Layers<'a> {
    neuron: Neuron,
    epochs: Epochs,
    engine: Box<dyn Engine + 'a>,
    device: TrainingDevice,
    /// Why it is on its device, if that was not asked for.
    remark: Option<String>,
}

impl<'a> Layers<'a> {
    fn new(
        settings: &Settings,
        prepared: &'a Prepared,
        parameters: Option<Parameters>,
        opened: &RunDevice,
    ) -> Result<Self, State> {
        let neuron = Neuron::of(&settings.network);
        let hyperparameters = hyperparameters(settings, &neuron);
        let parameters = match parameters {
            Some(parameters) => parameters,
            None => {
                let architecture = neuron.architecture(prepared.transform.inputs.len(), &settings.network.hidden);
                let architecture = architecture.map_err(|error| State::Failed(error.to_string()))?;
                let initial: Network = initial_parameters(architecture, &hyperparameters).network;
                Parameters::new(neuron.fold(&initial))
            }
        };
        let samples = &prepared.train.samples;
        let choice = settings.training.device;
        let on_device = choice.engine(opened, samples, &parameters, &hyperparameters, &GpuOptions::default());
        let OnDevice { engine, device, times } = on_device.map_err(|error| needs_no_gpu(&error))?;
        let remark = times.map(|times| times.to_string()).or(opened.remark());
        Ok(Self { neuron, epochs: Epochs::new(hyperparameters, samples.len()), engine, device, remark })
    }

    fn parameters(&self) -> Result<Parameters, State> {
        self.engine.parameters().map_err(device_failed)
    }
}

fn device_failed(error: DeviceError) -> State {
    State::Failed(format!("the device failed: {error}"))
}

impl Learner for Layers<'_> {
    fn device(&self) -> String {
        self.engine.device() + &self.remark.as_ref().map(|remark| format!(" ({remark})")).unwrap_or_default()
    }

    fn same_device(&self, _: TrainingDevice) -> TrainingDevice {
        self.device
    }

    fn steps(&self) -> usize {
        self.epochs.count_of_steps()
    }

    fn seen(&self, step: usize) -> usize {
        self.epochs.seen(step)
    }

    #[cfg(test)]
    fn permutations(&self) -> usize {
        self.epochs.computed()
    }

    fn train(&mut self, epoch: usize, part: &mut PartOfEpoch, is_due: &mut dyn FnMut() -> bool) -> Result<(), State> {
        let steps = self.epochs.steps(epoch);
        let trained = steps.train(&mut *self.engine, part, steps.count(), &mut |_| {
            if is_due() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        trained.map_err(|error| match TrainingError::<std::convert::Infallible>::in_epoch(epoch + 1, error) {
            error @ TrainingError::Diverged { .. } => State::Diverged(error.to_string()),
            error => State::Failed(error.to_string()),
        })
    }

    fn end_epoch(&mut self, validation: &Part) -> Result<Vec<f32>, State> {
        let outputs = self.engine.predict(&validation.samples).map_err(device_failed)?;
        Ok(outputs.into_raw_vec_and_offset().0)
    }

    fn current(&self) -> Result<Current, State> {
        let folded = self.parameters()?.network;
        let predictor = TrainedPredictor::Layers(Predictor::new(&folded));
        let trained = Trained::Layers { network: self.neuron.unfold(&folded), neuron: self.neuron };
        Ok(Current { trained, predictor })
    }

    fn state(&self) -> Result<(TrainingState, Option<Network>), State> {
        let parameters = self.parameters()?;
        let drawn = self.neuron.unfold(&parameters.network);
        Ok((TrainingState::Layers(parameters), Some(drawn)))
    }
}

fn hyperparameters(settings: &Settings, neuron: &Neuron) -> Hyperparameters {
    let training = &settings.training;
    Hyperparameters {
        loss: Loss::SquaredError,
        optimizer: training.optimizer,
        learning_rate: training.learning_rate,
        schedule: training.schedule,
        learning_rate_factors: neuron.learning_rate_factors(settings.network.hidden.len() + 1),
        momentum: training.momentum,
        weight_decay: training.regularization,
        batch_size: Some(training.batch_size),
        gradient: GradientScale::Mean,
        epochs: training.epochs,
        shuffle: true,
        report_every: 1,
        stop_at: None,
        initialization: Initialization::Xavier,
        seed: training.seed,
    }
}

/// The network made for tables.
struct TableLearner {
    training: Training,
}

impl TableLearner {
    fn new(
        settings: &Settings,
        prepared: &Prepared,
        state: Option<(&table_network::State, RunProgress)>,
    ) -> Result<Self, State> {
        let failed = |error: table_network::Error| State::Failed(error.to_string());
        let (kinds, samples) = (trained::kinds(&prepared.transform.inputs), &prepared.train.samples);
        let of_settings = &settings.training;
        let options = Options {
            batch_size: of_settings.batch_size,
            epochs: of_settings.epochs,
            seed: of_settings.seed,
            ..Options::for_table(samples.len(), &kinds)
        };
        let (inputs, targets) = (samples.inputs().view(), samples.targets().view());
        let Some((state, RunProgress { epoch, step, .. })) = state else {
            return Ok(Self { training: Training::new(options, &kinds, inputs, targets).map_err(failed)? });
        };
        let training = Training::resume(options, &kinds, inputs, targets, state).map_err(failed)?;
        match (training.epoch(), training.step()) == (epoch, step) {
            true => Ok(Self { training }),
            false => Err(State::Failed("the run's state is of another step: start a new run".to_owned())),
        }
    }
}

impl Learner for TableLearner {
    fn device(&self) -> String {
        format!("CPU, {}", command_line::counted(rayon::current_num_threads(), "thread"))
    }

    fn steps(&self) -> usize {
        self.training.steps_per_epoch()
    }

    fn seen(&self, step: usize) -> usize {
        self.training.rows_of(step)
    }

    fn train(&mut self, _: usize, part: &mut PartOfEpoch, is_due: &mut dyn FnMut() -> bool) -> Result<(), State> {
        let start = Instant::now();
        self.training.train(usize::MAX, &mut |_| {
            if is_due() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let seconds = part.seconds + start.elapsed().as_secs_f64();
        // The other kind's loss is half the squared error.
        *part = PartOfEpoch { step: self.training.step(), loss: self.training.loss() / 2.0, seconds };
        Ok(())
    }

    fn end_epoch(&mut self, validation: &Part) -> Result<Vec<f32>, State> {
        let (inputs, targets) = (validation.samples.inputs().view(), validation.samples.targets().view());
        self.training.end_epoch(inputs, targets).map_err(|error| State::Diverged(error.to_string()))
    }

    fn keep_best(&mut self) {
        self.training.keep_best();
    }

    fn current(&self) -> Result<Current, State> {
        let trained = Trained::Table(Arc::new(self.training.current()));
        Ok(Current { predictor: trained.predictor(), trained })
    }

    fn state(&self) -> Result<(TrainingState, Option<Network>), State> {
        Ok((TrainingState::Table(self.training.state()), None))
    }
}
