//! Interrupted training runs: the checkpoint of `neural-net`, and the run folder of the regression studio.

use std::convert::Infallible;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Result;
use ndarray::Array2;
use neural_net::checkpoint::{self, Checkpoint};
use neural_net::engine::Parameters;
use neural_net::model_file::ModelFileError;
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Observer, Optimizer, Progress, Validation, initial_parameters};
use neural_net::{Activation, Architecture, CpuEngine, Engine, Hyperparameters, Samples, Training};
use regression_studio::saved_run::TrainingState;
use regression_studio::settings::NetworkKind;
use regression_studio::{SavedRun, run_folder};

use crate::finding::{Case, Expected, Verdict, Wrong, wrong};
use crate::mutate;
use crate::random::Random;
use crate::targets::model::{require, require_studio_model, require_usable_network};
use crate::targets::{Reader, safetensors, studio};

/// Name of `neural-net`'s checkpoint in cases. The names of files in a run folder begin with the folder.
const DIGITS: &str = "checkpoint.safetensors";
/// The run folder of version 1, which has no checksums.
const OLD: &str = "old";
/// Run folders, with the kind of network.
const RUNS: [(&str, NetworkKind); 3] =
    [("run", NetworkKind::Layers), ("table", NetworkKind::Table), (OLD, NetworkKind::Layers)];
/// The files of a run folder that a resumed run reads.
const RUN_FILES: [&str; 3] = ["checkpoint.safetensors", "settings.toml", "results.toml"];

/// The training samples of the base checkpoint.
const SAMPLES: usize = 8;

pub(super) struct Checkpoints {
    folder: PathBuf,
    /// Valid files, with their names in cases.
    files: Vec<(String, Vec<u8>)>,
}

impl Checkpoints {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let base = folder.join("base");
        checkpoint::save(&base, &base_checkpoint()?)?;
        let mut files = vec![(DIGITS.to_owned(), fs::read(checkpoint::path_in(&base))?)];
        for (run_name, kind) in RUNS {
            let run = studio::run(kind)?;
            let path = folder.join(run_name);
            run_folder::save(&path, &run)?;
            for name in RUN_FILES {
                let mut file = fs::read(path.join(name))?;
                if run_name == OLD {
                    file = without_checksum(&file);
                    fs::write(path.join(name), &file)?;
                }
                files.push((format!("{run_name}/{name}"), file));
            }
        }
        fs::create_dir_all(folder.join("digits"))?;
        Ok(Self { folder: folder.to_owned(), files })
    }

    fn digits(&self) -> Result<Verdict, ModelFileError> {
        let Some(read) = checkpoint::load(&self.folder.join("digits"))? else {
            return Ok(wrong("a checkpoint that is there is read", "None"));
        };
        let copy = self.folder.join("copy");
        let checked = require_usable_checkpoint(&read).and_then(|()| {
            let again = checkpoint::save(&copy, &read).and_then(|()| checkpoint::load(&copy));
            let is_same = again.as_ref().is_ok_and(|again| again.as_ref() == Some(&read));
            require(
                is_same,
                "what is written again is read again",
                again.err().map_or(String::new(), |e| e.to_string()),
            )
        });
        Ok(checked.and_then(|()| resumed(read)).map_or_else(Verdict::Wrong, |()| Verdict::Accepted))
    }
}

impl Reader for Checkpoints {
    fn case(&self, random: &mut Random) -> Case {
        let (name, file) = &self.files[random.below(self.files.len())];
        if name.ends_with(".safetensors") {
            let case = safetensors::case(random, name, file);
            // Without a checksum, a flipped bit may be another weight.
            let expected = if name.starts_with(OLD) { Expected::Any } else { case.expected };
            return Case { expected, ..case };
        }
        let mut bytes = file.clone();
        if !name.starts_with(OLD) && random.one_in(4) {
            mutate::flip_bit(random, &mut bytes);
            return Case { name: name.clone(), bytes, expected: Expected::Rejected };
        }
        mutate::text(random, &mut bytes);
        Case { name: name.clone(), bytes, expected: Expected::Any }
    }

    fn read(&self, case: &Case) -> Verdict {
        let Some((run, name)) = case.name.split_once('/') else {
            let path = checkpoint::path_in(&self.folder.join("digits"));
            if let Err(error) = fs::write(&path, &case.bytes) {
                return wrong("the attack can write", error.to_string());
            }
            return self.digits().unwrap_or_else(|error| Verdict::rejected(error, path.display()));
        };
        let run = self.folder.join(run);
        let path = run.join(name);
        if let Err(error) = fs::write(&path, &case.bytes) {
            return wrong("the attack can write", error.to_string());
        }
        let opened = run_folder::open(&run);
        // Restore the base file, so that the next case changes one file only.
        if let Some((_, base)) = self.files.iter().find(|(base, _)| *base == case.name) {
            drop(fs::write(&path, base));
        }
        match opened {
            Err(error) => Verdict::rejected(error, run.display()),
            Ok(run) => {
                // Writing a run takes far longer than reading it, so only one case of 16 does.
                let is_written = crc32fast::hash(&case.bytes).is_multiple_of(16);
                self.run(&run, is_written).map_or_else(Verdict::Wrong, |()| Verdict::Accepted)
            }
        }
    }
}

impl Checkpoints {
    /// Checks that an opened run is consistent, and that it reads equal after it is written again.
    fn run(&self, run: &SavedRun, is_written: bool) -> Result<(), Wrong> {
        require_studio_model(&run.model, &self.folder.join("copy.safetensors"))?;
        if let TrainingState::Layers(parameters) = &run.checkpoint.state {
            require_usable_network(&parameters.network)?;
            finite_state(parameters)?;
        }
        let values = run.history.iter().flat_map(|record| [record.seconds, record.train_rmse, record.validation_rmse]);
        let mut values = values.chain([run.checkpoint.progress.loss, run.checkpoint.progress.seconds]);
        require(values.all(f64::is_finite), "numbers of a run are finite", "one is not")?;
        if !is_written {
            return Ok(());
        }
        let copy = self.folder.join("run-copy");
        let again = run_folder::save(&copy, run).and_then(|()| run_folder::open(&copy));
        let reason = again.as_ref().err().map_or(String::new(), ToString::to_string);
        let again = again.ok().map(|again| SavedRun { settings: run_folder::with_full_path(&again.settings), ..again });
        let settings = run_folder::with_full_path(&run.settings);
        // A result may be NaN, so the runs are compared by their debug text.
        let is_same = again.is_some_and(|again| {
            let shown = |run: &SavedRun| format!("{:?} {:?} {:?}", run.model, run.checkpoint, run.ended);
            again.settings == settings && shown(&again) == shown(run)
        });
        require(is_same, "what is written again is read again", reason)
    }
}

/// The checkpoint of a training run on [`SAMPLES`] samples after one epoch of five and one step.
fn base_checkpoint() -> Result<Checkpoint> {
    let hyperparameters = Hyperparameters {
        optimizer: Optimizer::Adam,
        batch_size: Some(3),
        momentum: 0.5,
        ..Preset::Homework.hyperparameters()
    };
    let architecture = Architecture::new(vec![4, 3, 10], Activation::Sigmoid, Activation::Sigmoid)?;
    let network = initial_parameters(architecture, &hyperparameters).network;
    let layers = network.weights().iter().cloned().zip(network.biases().iter().cloned());
    let velocities = Some(layers.clone().collect());
    let squares = Some(layers.map(|(weights, biases)| (weights.mapv(|w| w * w), biases.mapv(|b| b * b))).collect());
    let record = EpochRecord { epoch: 1, samples: None, seconds: 0.5, loss: 0.25, accuracy: 0.5 };
    let run = checkpoint::Run {
        preset: Preset::Homework,
        hyperparameters,
        dataset: "built-in digits".to_owned(),
        convention: Default::default(),
        data_checksum: 12345,
        images: (SAMPLES, 0),
        augment: false,
        progress: Progress { epoch: 1, step: 1, loss: 0.25, seconds: 0.125, history: vec![record] },
    };
    Ok(Checkpoint { parameters: Parameters { network, velocities, squares }, run })
}

/// A file of a run folder, converted to the format without checksums.
fn without_checksum(file: &[u8]) -> Vec<u8> {
    match file.strip_prefix(b"#") {
        // The checksum of a text is its first line.
        Some(text) => text.iter().copied().skip_while(|&byte| byte != b'\n').skip(1).collect(),
        None => safetensors::without_checksum(file),
    }
}

fn finite_state(parameters: &Parameters) -> Result<(), Wrong> {
    let velocities = parameters.velocities.iter().chain(&parameters.squares).flatten();
    let mut all = velocities.flat_map(|(weights, biases)| weights.iter().chain(biases));
    require(all.all(|velocity| velocity.is_finite()), "the optimizer's state is finite", "one is not")
}

/// Checks that every value is finite and in its range.
fn require_usable_checkpoint(Checkpoint { parameters, run }: &Checkpoint) -> Result<(), Wrong> {
    require_usable_network(&parameters.network)?;
    finite_state(parameters)?;
    let Hyperparameters { learning_rate, momentum, weight_decay, .. } = run.hyperparameters;
    let hyperparameters = [learning_rate, momentum, weight_decay, run.progress.loss, run.progress.seconds];
    require(hyperparameters.iter().all(|number| number.is_finite()), "numbers of a run are finite", "one is not")?;
    let (done, all) = (run.progress.epoch, run.hyperparameters.epochs);
    require(done <= all, "no more epochs are done than there are", format!("{done} of {all}"))?;
    let batch = run.hyperparameters.batch_size.unwrap_or(run.images.0).max(1);
    let (step, steps) = (run.progress.step, run.images.0.div_ceil(batch));
    require(step <= steps, "no more steps are done than an epoch has", format!("{step} of {steps}"))
}

/// Resumes training on the same samples for a few steps.
fn resumed(Checkpoint { parameters, run }: Checkpoint) -> Result<(), Wrong> {
    let architecture = parameters.network.architecture();
    let fits = (architecture.inputs(), architecture.outputs()) == (4, 10) && run.images.0 == SAMPLES;
    // The program makes the same checks before it resumes.
    if !fits || architecture.require_loss(run.hyperparameters.loss).is_err() {
        return Ok(());
    }
    let targets = Array2::from_shape_fn((SAMPLES, 10), |(row, column)| if row == column { 1.0 } else { 0.0 });
    let samples = Samples::from_bytes(Array2::<u8>::ones((SAMPLES, 4)).into(), 255.0, targets);
    let samples = samples.expect("inputs and targets have the same number of rows");
    let engine = CpuEngine::new(&samples, &parameters, &run.hyperparameters);
    let mut training = Training::new(engine, SAMPLES, run.hyperparameters, run.progress);
    // The training may diverge, which is not a defect.
    let _outcome = training.run(&Validation::Training, &mut Steps(10));
    Ok(())
}

/// Observer that stops the training after this number of steps.
struct Steps(usize);

impl<E: Engine> Observer<E> for Steps {
    type Error = Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, _record: &EpochRecord, _training: &Training<E>) -> Result<(), Infallible> {
        Ok(())
    }
}
