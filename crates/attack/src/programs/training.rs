//! Training runs that can be killed and resumed, with the result of an uninterrupted run as the reference.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use neural_net::model_file;
use regression_studio::Model;

use super::process::{Ended, Running};
use super::sandbox::{self, Sandbox};
use super::{Defect, Programs};

/// The program that trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trainer {
    NeuralNet,
    Studio,
}

/// Epochs of a training run: enough for some tenths of a second, in which a kill can hit it.
const DIGITS_EPOCHS: usize = 300;
const STUDIO_EPOCHS: usize = 400;
const IMAGES: usize = 200;
const ROWS: usize = 600;

impl Trainer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NeuralNet => "neural-net",
            Self::Studio => "regression-studio",
        }
    }
}

/// A deterministic training run of a program.
pub(super) struct Job<'a> {
    pub(super) trainer: Trainer,
    programs: Programs<'a>,
    /// Duration of the uninterrupted run.
    pub(super) time: Duration,
    /// The network saved by the uninterrupted run; `None` before that run.
    result: Option<Saved>,
}

/// A saved network. Networks are compared instead of files, since the order of a file's metadata is unspecified.
#[derive(PartialEq)]
enum Saved {
    Digits(model_file::Model),
    Studio(Box<Model>),
}

impl<'a> Job<'a> {
    /// Runs the training once without interruption, as the reference.
    ///
    /// # Errors
    /// If that run fails.
    pub(super) fn new(trainer: Trainer, programs: Programs<'a>) -> Result<Self> {
        let mut job = Self { trainer, programs, time: Duration::ZERO, result: None };
        let sandbox = job.sandbox()?;
        let begin = Instant::now();
        let ended = job.start(&sandbox, "reference")?.end()?;
        job.time = begin.elapsed();
        ensure!(ended.code() == Some(0), "the uninterrupted {} fails: {}", trainer.name(), ended.messages());
        job.result = job.saved(&sandbox, "reference");
        ensure!(job.result.is_some(), "the uninterrupted {} saves no network", trainer.name());
        Ok(job)
    }

    /// A folder with the run's input files.
    pub(super) fn sandbox(&self) -> Result<Sandbox> {
        match self.trainer {
            Trainer::NeuralNet => Sandbox::new()?.with_digits(IMAGES),
            Trainer::Studio => Sandbox::new()?.with_table(ROWS, &sandbox::settings(STUDIO_EPOCHS).to_toml()),
        }
    }

    /// Starts the run, or resumes it if there is a checkpoint.
    pub(super) fn start(&self, sandbox: &Sandbox, name: &str) -> Result<Running> {
        let mut command = Command::new(self.programs.path(self.trainer.name()));
        command.current_dir(sandbox.path()).env("HOME", sandbox.path()).env_remove("MNIST_DIR");
        match self.trainer {
            Trainer::NeuralNet => {
                command.args(["--data", "digits", "--layers", "64,8,10", "--validation-images", "0", "--cores", "1"]);
                command.args(["--device", "cpu", "--target-accuracy", "0", "--momentum", "0.5", "--batch-size", "20"]);
                command.args(["--train-images", &IMAGES.to_string(), "--epochs", &DIGITS_EPOCHS.to_string()]);
                command.args(["--checkpoint", "kept", "--resume", "--save", &self.result_name(name)]);
            }
            Trainer::Studio => {
                command.args(["train", "settings.toml", "--out", "kept"]);
                if sandbox.join("kept/checkpoint.safetensors").exists() {
                    command.arg("--resume");
                }
            }
        }
        Running::start(&mut command, sandbox.path(), name)
    }

    fn result_name(&self, name: &str) -> String {
        match self.trainer {
            Trainer::NeuralNet => format!("{name}.safetensors"),
            Trainer::Studio => "kept/model.safetensors".to_owned(),
        }
    }

    /// The network that the run saved, if it can be read.
    fn saved(&self, sandbox: &Sandbox, name: &str) -> Option<Saved> {
        let path = sandbox.join(self.result_name(name));
        match self.trainer {
            Trainer::NeuralNet => model_file::load(&path).ok().map(Saved::Digits),
            Trainer::Studio => Model::load(&path).ok().map(|model| Saved::Studio(Box::new(model))),
        }
    }

    /// The defect of a run that should have ended with exit code 0 and the reference's result.
    pub(super) fn defect(&self, sandbox: &Sandbox, name: &str, ended: &Ended) -> Option<Defect> {
        let what = self.trainer.name();
        if let Some(defect) = ended.crash(what) {
            return Some(defect);
        }
        if ended.code() != Some(0) {
            let place = format!("{what}: a training run that is resumed ends well");
            return Some(Defect::wrong(place, format!("{}: {}", ended.status, ended.messages())));
        }
        let result = self.saved(sandbox, name);
        (result != self.result).then(|| {
            let detail = if result.is_some() { "another network" } else { "no network that can be read" };
            Defect::wrong(format!("{what}: a resumed training run has the same result to the bit"), detail)
        })
    }

    /// The defect that a temporary file is left in the folder.
    pub(super) fn left_over(&self, sandbox: &Sandbox) -> Option<Defect> {
        let is_temporary = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".tmp"));
        let left = sandbox.files().into_iter().find(|path| is_temporary(path))?;
        Some(Defect::wrong(format!("{}: no temporary file is left", self.trainer.name()), left.display().to_string()))
    }
}
