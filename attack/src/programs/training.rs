//! Training runs that can be killed and resumed, and the result that an uninterrupted one has.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use neural_net::model_file;
use regression_studio::Model;

use super::place::{self, Place};
use super::process::{Ended, Running};
use super::{Defect, Programs};

/// Which program trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trainer {
    NeuralNet,
    Studio,
}

/// Epochs of a training run: enough for some tenths of a second.
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

/// A training run of a program, which always has the same result.
pub(super) struct Job<'a> {
    pub(super) trainer: Trainer,
    programs: Programs<'a>,
    /// How long it takes uninterrupted.
    pub(super) time: Duration,
    /// The saved network; None before it is known.
    result: Option<Saved>,
}

/// A saved network. It is compared as it is read: the order of a file's metadata is any.
#[derive(PartialEq)]
enum Saved {
    Digits(model_file::Model),
    Studio(Model),
}

impl<'a> Job<'a> {
    /// Runs it once uninterrupted.
    ///
    /// # Errors
    /// If that fails.
    pub(super) fn new(trainer: Trainer, programs: Programs<'a>) -> Result<Self> {
        let mut job = Self { trainer, programs, time: Duration::ZERO, result: None };
        let place = job.place()?;
        let begin = Instant::now();
        let ended = job.start(&place, "reference")?.end()?;
        job.time = begin.elapsed();
        ensure!(ended.code() == Some(0), "the uninterrupted {} fails: {}", trainer.name(), ended.messages());
        job.result = job.saved(&place, "reference");
        ensure!(job.result.is_some(), "the uninterrupted {} saves no network", trainer.name());
        Ok(job)
    }

    /// A folder with its input.
    pub(super) fn place(&self) -> Result<Place> {
        match self.trainer {
            Trainer::NeuralNet => Place::new()?.with_digits(IMAGES),
            Trainer::Studio => Place::new()?.with_table(ROWS, &place::settings(STUDIO_EPOCHS).to_toml()),
        }
    }

    /// Starts it, or resumes it where there is something to resume.
    pub(super) fn start(&self, place: &Place, name: &str) -> Result<Running> {
        let mut command = Command::new(self.programs.path(self.trainer.name()));
        command.current_dir(place.path()).env("HOME", place.path()).env_remove("MNIST_DIR");
        match self.trainer {
            Trainer::NeuralNet => {
                command.args(["--data", "digits", "--layers", "64,8,10", "--validation-images", "0", "--cores", "1"]);
                command.args(["--device", "cpu", "--target-accuracy", "0", "--momentum", "0.5", "--batch-size", "20"]);
                command.args(["--train-images", &IMAGES.to_string(), "--epochs", &DIGITS_EPOCHS.to_string()]);
                command.args(["--checkpoint", "kept", "--resume", "--save", &self.result_name(name)]);
            }
            Trainer::Studio => {
                command.args(["train", "settings.toml", "--out", "kept"]);
                if place.join("kept/checkpoint.safetensors").exists() {
                    command.arg("--resume");
                }
            }
        }
        Running::start(&mut command, place.path(), name)
    }

    fn result_name(&self, name: &str) -> String {
        match self.trainer {
            Trainer::NeuralNet => format!("{name}.safetensors"),
            Trainer::Studio => "kept/model.safetensors".to_owned(),
        }
    }

    /// What it saved, if that can be read.
    fn saved(&self, place: &Place, name: &str) -> Option<Saved> {
        let path = place.join(self.result_name(name));
        match self.trainer {
            Trainer::NeuralNet => model_file::load(&path).ok().map(Saved::Digits),
            Trainer::Studio => Model::load(&path).ok().map(Saved::Studio),
        }
    }

    /// What is wrong with a training run that has ended well.
    pub(super) fn defect(&self, place: &Place, name: &str, ended: &Ended) -> Option<Defect> {
        let what = self.trainer.name();
        if let Some(defect) = ended.crash(what) {
            return Some(defect);
        }
        if ended.code() != Some(0) {
            let place = format!("{what}: a training run that is resumed ends well");
            return Some(Defect::wrong(place, format!("{}: {}", ended.status, ended.messages())));
        }
        let result = self.saved(place, name);
        (result != self.result).then(|| {
            let detail = if result.is_some() { "another network" } else { "no network that can be read" };
            Defect::wrong(format!("{what}: a resumed training run has the same result to the bit"), detail)
        })
    }

    /// A temporary file that is left.
    pub(super) fn left_over(&self, place: &Place) -> Option<Defect> {
        let is_temporary = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".tmp"));
        let left = place.files().into_iter().find(|path| is_temporary(path))?;
        Some(Defect::wrong(format!("{}: no temporary file is left", self.trainer.name()), left.display().to_string()))
    }
}
