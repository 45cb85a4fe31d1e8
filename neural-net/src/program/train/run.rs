//! A training run on any engine: steps, checkpoints, the saved network, and its test accuracy.

use std::process::ExitCode;

use anyhow::{Context, Result};
use neural_net::data::{Dataset, ToSamples};
use neural_net::engine::Engine;
use neural_net::model_file::{self, Model};
use neural_net::training::{EpochRecord, Optimizer, Outcome, Progress, Training, TrainingError, Validation};
use neural_net::{Architecture, Samples};

use super::report::TrainingReport;
use crate::program::arguments::{SaveFor, TrainArguments};
use crate::program::console::{Console, INTERRUPTED};
use crate::program::failure::{device_failed, failed, not_measured, not_trained};
use crate::program::settings::Settings;

/// The inputs of a training run on any engine.
pub(super) struct TrainingRun<'a> {
    pub(super) arguments: &'a TrainArguments,
    /// Whether this is the only rank or the one that prints and saves.
    pub(super) is_first: bool,
    pub(super) settings: &'a Settings,
    pub(super) dataset: &'a Dataset,
    pub(super) validation: Option<Samples>,
    pub(super) console: Console<'a>,
    pub(super) threads: usize,
}

impl TrainingRun<'_> {
    /// Trains starting from `progress`, saves the network, and measures it on the test images.
    pub(super) fn train(mut self, engine: Box<dyn Engine + '_>, progress: Progress) -> Result<ExitCode> {
        let mut training =
            Training::new(engine, self.settings.images.train, self.settings.hyperparameters.clone(), progress);
        self.announce(&training);
        if !training.progress().history.is_empty()
            && let Err(error) = self.console.resume(&training)
        {
            return Err(device_failed(&self.console, "the network could not be examined", &error));
        }
        // The first checkpoint is written before the first step, so even a killed process leaves one.
        if let Some(directory) = &self.console.checkpoint
            && let Err(error) = self.console.save_checkpoint(directory, &training)
        {
            return failed(&self.console, error);
        }
        self.show_progress(training.progress());
        let validation = self.validation.as_ref().map_or(Validation::Training, Validation::Apart);
        let outcome = training.run(&validation, &mut self.console);
        self.console.bar.finish_and_clear();
        match outcome {
            Ok(Outcome::Finished | Outcome::Reached) => self.finish(training),
            // Rank 0 reports it and saves.
            Ok(Outcome::Stopped) | Err(TrainingError::Diverged { .. }) if !self.is_first => Ok(ExitCode::SUCCESS),
            Ok(Outcome::Stopped) => interrupted(&self.console, &training).or_else(|error| failed(&self.console, error)),
            Err(error) => not_trained(&self.console, error),
        }
    }

    /// Describes the run and where it resumes, and warns if its steps are too large or too small.
    fn announce(&self, training: &Training<impl Engine>) {
        let Progress { epoch, step, .. } = *training.progress();
        let is_resumed = (epoch, step) != (0, 0);
        if !self.console.quiet {
            command_line::say!("{}", description(self.settings, &training.engine().device()));
            if is_resumed {
                command_line::say!("Resuming after epoch {epoch} and {step} steps.");
            }
        }
        // A resumed run keeps its settings.
        if self.is_first
            && !is_resumed
            && let Some(warning) = self.console.diagnosed.of_steps()
        {
            command_line::warn(warning);
        }
    }

    fn show_progress(&self, progress: &Progress) {
        let bar = &self.console.bar;
        if !bar.is_hidden() {
            bar.set_position(steps_done(self.settings, progress.epoch, progress.step));
            bar.reset_eta();
        }
    }

    /// Saves the trained network, measures it on the test images, and prints the results.
    fn finish(mut self, mut training: Training<impl Engine>) -> Result<ExitCode> {
        if !self.console.quiet
            && let Some(line) = stop(self.settings, training.reached())
        {
            command_line::say!("{line}");
        }
        // Saved before the measurement: a device failure there does not lose the network.
        self.save(&training)?;
        let accuracy = self.test_accuracy(&mut training)?;
        if !self.is_first {
            return Ok(ExitCode::SUCCESS);
        }
        let Self { arguments, settings, dataset, threads, .. } = self;
        let (reached, history) = (training.reached(), &training.progress().history);
        let result = TrainingReport { settings, dataset, history, reached, accuracy, threads };
        result.print(arguments.json, &training.engine().device());
        Ok(result.verdict(arguments.target_accuracy))
    }

    /// Saves the network to the file of `--save`, if there is one.
    fn save(&self, training: &Training<impl Engine>) -> Result<()> {
        let Some(file) = self.arguments.save.as_ref().filter(|_| self.is_first) else { return Ok(()) };
        let parameters = training.engine().parameters();
        let parameters = parameters
            .map_err(|error| device_failed(&self.console, "the trained network is still on the device", &error))?;
        let (network, dataset) = (parameters.network, self.dataset);
        let model = Model { network, dataset: dataset.name.clone(), convention: dataset.convention };
        match self.arguments.save_for {
            SaveFor::NeuralNet => model_file::save(file, &model),
            SaveFor::Pytorch => model_file::save_for_pytorch(file, &model),
        }?;
        Ok(())
    }

    /// The accuracy on the test images, 0 … 1. Warns if it is low and training has failed.
    fn test_accuracy(&mut self, training: &mut Training<impl Engine>) -> Result<f64> {
        let (arguments, test) = (self.arguments, &self.dataset.test);
        let evaluated = training.engine_mut().evaluate(&test.samples(0, test.len()));
        let measured = evaluated.and_then(|evaluation| {
            let accuracy = evaluation.accuracy();
            // A run that reaches the requested accuracy has not failed.
            let is_enough =
                training.reached().is_some() || arguments.target_accuracy.is_some_and(|target| accuracy >= target);
            if !is_enough {
                self.console.examine(training, Some((accuracy, test.len())))?;
            }
            Ok(accuracy)
        });
        measured.map_err(|error| not_measured(arguments.save.as_deref(), &self.console, &error))
    }
}

/// The number of steps of `epochs` epochs plus `steps`.
pub(super) fn steps_done(settings: &Settings, epochs: usize, steps: usize) -> u64 {
    let images = settings.images.train;
    let steps_of_epoch = images.div_ceil(settings.hyperparameters.batch_size.unwrap_or(images).max(1));
    steps_of_epoch.saturating_mul(epochs).saturating_add(steps) as u64
}

/// One line about the network, the hyperparameters and the device.
fn description(settings: &Settings, device: &str) -> String {
    let Settings { architecture, hyperparameters, images, .. } = settings;
    let batch = hyperparameters.batch_size.map_or("full batch".to_owned(), |size| format!("batches of {size}"));
    format!(
        "Network: {}, {} then {}, {}; {}learning rate {}, {batch}, {} images; {device}.",
        shown_sizes(architecture),
        architecture.hidden_activation().name(),
        architecture.output_activation().name(),
        hyperparameters.loss.name(),
        if hyperparameters.optimizer == Optimizer::Adam { "Adam, " } else { "" },
        hyperparameters.learning_rate,
        images.train,
    )
}

/// One line about where `--stop-at` stopped the training run, or that it did not.
fn stop(settings: &Settings, reached: Option<&EpochRecord>) -> Option<String> {
    let target = 100.0 * settings.hyperparameters.stop_at?.accuracy;
    let word = settings.preset.epoch_word();
    Some(match reached {
        Some(EpochRecord { epoch, samples, accuracy, .. }) => {
            let (percent, all) = (100.0 * accuracy, settings.images.train);
            let seen = samples.unwrap_or(all);
            format!(
                "{word} {epoch}, stopped after {seen} of {all} images: accuracy {percent:.2} %, the target is {target:.2} %."
            )
        }
        None => format!("Not stopped early: the accuracy has not reached the target of {target:.2} %."),
    })
}

pub(super) fn shown_sizes(architecture: &Architecture) -> String {
    architecture.sizes().iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
}

/// Saves a training run interrupted by Ctrl-C to its checkpoint, if it has one, and prints how to
/// resume it.
fn interrupted(console: &Console, training: &Training<impl Engine>) -> Result<ExitCode> {
    let Progress { epoch, step, .. } = training.progress();
    let where_to = format!("after epoch {epoch} and {step} steps");
    match &console.checkpoint {
        Some(directory) => {
            let saved = console.save_checkpoint(directory, training);
            saved.context("the interrupted training run could not be saved")?;
            command_line::note!(
                "Interrupted {where_to}, and saved. To resume: the same command with --checkpoint {} --resume",
                directory.display()
            );
        }
        None => {
            command_line::note!(
                "Interrupted {where_to}. Nothing was saved: a run with --checkpoint DIR can be resumed"
            );
        }
    }
    Ok(ExitCode::from(INTERRUPTED))
}
