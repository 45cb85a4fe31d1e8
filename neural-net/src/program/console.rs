//! The observer of a training run: progress on the terminal, checkpoints, and Ctrl-C.

use std::cell::LazyCell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use neural_net::checkpoint::{self, Checkpoint, Run};
use neural_net::engine::Engine;
use neural_net::one_class::OneClass;
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Observer, Progress, Training};
use neural_net::{Network, Samples};

use super::warnings;

/// Shows progress, writes checkpoints, and stops on Ctrl-C.
pub(super) struct Console<'a> {
    pub(super) preset: Preset,
    pub(super) quiet: bool,
    pub(super) bar: ProgressBar,
    pub(super) interrupted: Arc<AtomicBool>,
    /// Whether warnings are shown: by one rank only.
    pub(super) warns: bool,
    /// The number of training images.
    pub(super) images: usize,
    /// Images by which a network is examined after the first measured epoch.
    pub(super) examined: Examined<'a>,
    /// The directory of checkpoints.
    pub(super) checkpoint: Option<PathBuf>,
    /// The checkpoints' settings, without the progress.
    pub(super) run: LazyRun<'a>,
}

/// A checkpoint's settings. They are evaluated lazily, because the checksum of the images is needed for checkpoints
/// only.
pub(super) type LazyRun<'a> = LazyCell<Run, Box<dyn FnOnce() -> Run + 'a>>;

/// Images by which a network is examined.
pub(super) type Examined<'a> = Box<dyn Fn() -> Samples + 'a>;

impl Console<'_> {
    /// Warns if the network reads the images as one class.
    fn examine<E: Engine>(&self, training: &Training<E>) -> anyhow::Result<()> {
        let network = training.engine().parameters()?.network;
        let hyperparameters = training.hyperparameters();
        let found = OneClass::find(&network, hyperparameters.loss, &(self.examined)());
        let warning =
            found.and_then(|found| warnings::of_one_class(&found, training.progress(), hyperparameters, self.images));
        if let Some(warning) = warning {
            self.bar.suspend(|| command_line::note!("warning: {warning}"));
        }
        Ok(())
    }

    /// Writes a checkpoint of `training` to `directory`. A network that is not finite is not saved: it cannot be
    /// resumed, and would replace the last checkpoint.
    pub(super) fn save_checkpoint<E: Engine>(
        &self,
        directory: &std::path::Path,
        training: &Training<E>,
    ) -> anyhow::Result<()> {
        let mut run = Run { progress: training.progress().clone(), ..(*self.run).clone() };
        // A valid checkpoint's hyperparameters state at least the epochs that it has begun, but a run may be resumed
        // with fewer --epochs.
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

/// A network that is not saved, because a weight is not finite.
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
        // A stop within an epoch is reported by `train::stop`.
        if !self.quiet && samples.is_none() {
            let word = self.preset.epoch_word();
            self.bar.suspend(|| command_line::say!("{word} {epoch}, accuracy {:.2} %.", 100.0 * accuracy));
        }
        if self.warns && training.progress().history.len() == 1 {
            self.examine(training)?;
        }
        match &self.checkpoint {
            Some(directory) => self.save_checkpoint(directory, training),
            None => Ok(()),
        }
    }
}

/// A progress bar over all steps with the remaining time, on stderr; hidden if that is not a terminal.
pub(super) fn progress_bar(steps: u64, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let template = "training {wide_bar} {percent} %, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(steps).with_style(style)
}

/// A flag that the first Ctrl-C sets. The second Ctrl-C ends the process at once.
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
