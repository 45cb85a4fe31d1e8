//! The observer of a training run: progress on the terminal, checkpoints, and Ctrl-C.

use std::cell::LazyCell;
use std::mem::{Discriminant, discriminant};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use neural_net::checkpoint::{self, Checkpoint, Run};
use neural_net::diagnosis::{Cause, Diagnosis, Examined};
use neural_net::engine::{DeviceError, Engine};
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Observer, Progress, Training};
use neural_net::{Network, Samples};

use super::warnings::Diagnosed;

/// Shows progress, writes checkpoints, and stops on Ctrl-C.
pub(super) struct Console<'a> {
    pub(super) preset: Preset,
    pub(super) quiet: bool,
    pub(super) bar: ProgressBar,
    pub(super) interrupted: Arc<AtomicBool>,
    /// Whether to show warnings. Only one rank does.
    pub(super) warns: bool,
    /// The inputs of a diagnosis.
    pub(super) diagnosed: Diagnosed<'a>,
    /// Images for examining the network: training images, and validation images if there are any.
    pub(super) examined: ExaminedImages<'a>,
    /// The causes that the user has been warned about.
    pub(super) warned: Vec<Discriminant<Cause>>,
    /// The directory of checkpoints.
    pub(super) checkpoint: Option<PathBuf>,
    /// The checkpoints' settings, without the progress.
    pub(super) run: LazyRun<'a>,
}

/// A checkpoint's settings. Evaluated lazily, because only checkpoints need the checksum of the images.
pub(super) type LazyRun<'a> = LazyCell<Run, Box<dyn FnOnce() -> Run + 'a>>;

/// Some training images, and validation images if there are any. Evaluated lazily, because only the
/// rank that warns needs them.
pub(super) type ExaminedImages<'a> =
    LazyCell<(Samples, Option<Samples>), Box<dyn FnOnce() -> (Samples, Option<Samples>) + 'a>>;

impl Console<'_> {
    /// Warns if training fails, once for each cause. `test` has the accuracy on the test images and
    /// their number. It is passed at the end of a run without an earlier warning.
    pub(super) fn examine<E: Engine>(
        &mut self,
        training: &Training<E>,
        test: Option<(f64, usize)>,
    ) -> Result<(), DeviceError> {
        if !self.warns || (test.is_some() && !self.warned.is_empty()) {
            return Ok(());
        }
        if let Some((diagnosis, epoch)) = self.diagnose(training, test)?
            && self.is_new(&diagnosis)
        {
            let warning = self.diagnosed.in_words(&diagnosis, epoch);
            self.bar.suspend(|| command_line::warn(warning));
        }
        Ok(())
    }

    /// Records which warnings a resumed run has already given.
    pub(super) fn resume<E: Engine>(&mut self, training: &Training<E>) -> Result<(), DeviceError> {
        if self.warns
            && let Some((diagnosis, _)) = self.diagnose(training, None)?
        {
            self.is_new(&diagnosis);
        }
        Ok(())
    }

    fn is_new(&mut self, diagnosis: &Diagnosis) -> bool {
        let cause = discriminant(&diagnosis.cause);
        let is_new = !self.warned.contains(&cause);
        self.warned.push(cause);
        is_new
    }

    /// Returns the diagnosis and the epoch, counted from 1.
    fn diagnose<E: Engine>(
        &self,
        training: &Training<E>,
        test: Option<(f64, usize)>,
    ) -> Result<Option<(Diagnosis, usize)>, DeviceError> {
        let (network, loss) = (training.engine().parameters()?.network, training.hyperparameters().loss);
        let (images, apart) = &*self.examined;
        let validation = self.diagnosed.settings.images.validation;
        let others = test.map(|(_, count)| count).or((validation > 0).then_some(validation));
        let examined = Examined::new(&network, loss, images, apart.as_ref().unwrap_or(images), others);
        let history = &training.progress().history;
        let Some(last) = history.last() else { return Ok(None) };
        let tested = test.map(|(accuracy, _)| EpochRecord { accuracy, ..*last });
        // Accuracies on other images are not comparable.
        let history = tested.as_ref().map_or(&history[..], std::slice::from_ref);
        let found = Diagnosis::find(&self.diagnosed.setup(), history, &examined, test.is_some());
        Ok(found.map(|diagnosis| (diagnosis, last.epoch.max(1))))
    }

    /// Writes a checkpoint of `training` to `directory`. A network with non-finite weights is not
    /// saved: it cannot be resumed and would replace the last checkpoint.
    pub(super) fn save_checkpoint<E: Engine>(
        &self,
        directory: &std::path::Path,
        training: &Training<E>,
    ) -> anyhow::Result<()> {
        let mut run = Run { progress: training.progress().clone(), ..(*self.run).clone() };
        // A valid checkpoint's hyperparameters state at least as many epochs as it has started. But
        // a run may be resumed with fewer --epochs.
        let Progress { epoch, step, .. } = run.progress;
        run.hyperparameters.epochs = run.hyperparameters.epochs.max(epoch + usize::from(step > 0));
        let parameters = training.engine().parameters()?;
        if !is_finite(&parameters.network) {
            return Err(NotFinite { epoch: run.progress.epoch, step: run.progress.step }.into());
        }
        checkpoint::save(directory, &Checkpoint { parameters, run })?;
        Ok(())
    }
}

/// A network that is not saved because a weight is not finite.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "training diverged: after epoch {epoch} and {step} steps the weights are no longer finite; choose a smaller learning rate"
)]
pub(super) struct NotFinite {
    epoch: usize,
    step: usize,
}

fn is_finite(network: &Network) -> bool {
    let mut values = network.weights().iter().flatten().chain(network.biases().iter().flatten());
    values.all(|value| value.is_finite())
}

impl<E: Engine> Observer<E> for Console<'_> {
    type Error = anyhow::Error;

    fn step(&mut self, epoch: usize, step: usize, steps: usize) -> ControlFlow<()> {
        if !self.bar.is_hidden() {
            self.bar.set_position((epoch as u64 - 1) * steps as u64 + step as u64);
        }
        if self.interrupted.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, record: &EpochRecord, training: &Training<E>) -> anyhow::Result<()> {
        let EpochRecord { epoch, accuracy, samples, .. } = record;
        // `train::stop` reports a stop within an epoch.
        if !self.quiet && samples.is_none() {
            let word = self.preset.epoch_word();
            self.bar.suspend(|| command_line::say!("{word} {epoch}, accuracy {:.2} %.", 100.0 * accuracy));
        }
        self.examine(training, None)?;
        match &self.checkpoint {
            Some(directory) => self.save_checkpoint(directory, training),
            None => Ok(()),
        }
    }
}

/// A progress bar over all steps with the remaining time, on stderr. Hidden if stderr is not a terminal.
pub(super) fn progress_bar(steps: u64, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let template = "training {wide_bar} {percent} %, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(steps).with_style(style)
}

/// A flag that the first Ctrl-C sets. The second Ctrl-C ends the process immediately.
pub(super) fn interrupt_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let handled = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if handled.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    })?;
    Ok(flag)
}

/// The exit code of an interrupted training run: 128 + SIGINT, as in shells.
pub(super) const INTERRUPTED: u8 = 130;
