//! `neural-net`: trains a network.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use augmentation::Distortion;
use command_line::{CHECK_FAILED, require_memory, with_worker_threads};
use mpi_driver::Communicator;
use neural_net::augmented::AugmentedEngine;
use neural_net::checkpoint::{self, Checkpoint, Run};
use neural_net::data::{Dataset, ToSamples};
use neural_net::device::{OnDevice, TrainingDevice};
use neural_net::diagnosis::Cause;
use neural_net::distributed::CommunicatorRanks;
use neural_net::engine::{Engine, GpuOptions, Parameters};
use neural_net::files::{DirectoryLock, require_distinct};
use neural_net::model_file::{self, Model};
use neural_net::preset::Preset;
use neural_net::training::{
    EpochRecord, Optimizer, Outcome, Progress, Training, TrainingError, Validation, initial_parameters,
};
use neural_net::{Architecture, Samples};
use serde_json::json;

use super::arguments::{Distributed, SaveFor, TrainArguments};
use super::console::{Console, ExaminedImages, INTERRUPTED, LazyRun, interrupt_flag, progress_bar};
use super::dataset;
use super::device;
use super::distributed;
use super::failure::{device_failed, failed, not_measured};
use super::settings::Settings;
use super::warnings::Diagnosed;

pub(crate) fn run(arguments: &TrainArguments) -> Result<ExitCode> {
    match arguments.distributed {
        Some(_) => distributed::run(arguments),
        None => run_on(arguments, None, interrupt_flag()?),
    }
}

/// Trains; on a rank of `world` with the others. Only rank 0 prints, and reads and writes files other than images.
pub(super) fn run_on(
    arguments: &TrainArguments,
    world: Option<&Communicator>,
    interrupted: Arc<AtomicBool>,
) -> Result<ExitCode> {
    let is_first = world.is_none_or(|world| world.rank() == 0);
    let quiet = arguments.json || !is_first;
    if is_first {
        require_other_files(arguments)?;
    }
    let directory = arguments.checkpoint.as_deref().filter(|_| is_first);
    // Held from before the checkpoint is read until the last one is written.
    let mut _lock = None;
    let mut read = || {
        _lock = directory.map(DirectoryLock::acquire).transpose()?;
        kept_checkpoint(arguments)
    };
    let kept = match world {
        None => read()?,
        Some(world) => distributed::shared_checkpoint(world, read)?,
    };
    let flags = distributed::settings_flags(arguments, world)?;
    let settings = match &kept {
        Some(Checkpoint { parameters, run }) => {
            Settings::of_checkpoint(parameters.network.architecture(), run, arguments.preset, &flags)?
        }
        None => Settings::new(arguments.preset.unwrap_or(Preset::Homework), &flags)?,
    };
    if let Some(file) = arguments.save.as_ref().filter(|_| is_first) {
        model_file::require_writable(file)?;
    }
    if settings.augment && (world.is_some() || !matches!(arguments.device, TrainingDevice::Auto | TrainingDevice::Cpu))
    {
        bail!("--augment trains on the CPU of one process: omit --device and --distributed");
    }
    let what = format!("training a {} network", shown_sizes(&settings.architecture));
    require_memory(&what, bytes_needed(&settings.architecture))?;
    let train = |threads: usize, world: Option<&Communicator>| {
        let device = match arguments.device {
            // A GPU that no rank uses is not opened by all.
            TrainingDevice::Auto if settings.augment || world.is_some() => TrainingDevice::Cpu,
            device => device,
        };
        let rank = world.map_or(0, Communicator::rank);
        let (dataset, origin) = device.prepare_beside(rank, || dataset::load(&arguments.data))?;
        let choice = device;
        let device = device::open(choice, arguments.gpu_path, rank)?;
        if !quiet {
            command_line::say!("{origin}");
            dataset::note_convention(&dataset);
            if let Some(line) = device.remark() {
                command_line::say!("{line}");
            }
        }
        dataset::require_fit(&dataset, &settings.architecture)?;
        if settings.augment && dataset.train.shape != (augmentation::SIDE, augmentation::SIDE) {
            let (rows, columns) = dataset.train.shape;
            bail!("--augment distorts images of 28 × 28 pixels, and these have {rows} × {columns}: omit it");
        }
        let console = Console {
            preset: settings.preset,
            quiet,
            bar: progress_bar(steps_done(&settings, settings.hyperparameters.epochs, 0), quiet),
            interrupted,
            warns: is_first,
            diagnosed: Diagnosed {
                settings: &settings,
                workers: distributed::workers(arguments, world),
                available: dataset.train.len(),
            },
            examined: ExaminedImages::new(Box::new(|| examined(&dataset, settings.images))),
            warned: Vec::new(),
            checkpoint: directory.map(Path::to_path_buf),
            run: LazyRun::new(Box::new(|| run_of(&settings, &dataset))),
        };
        let (train, validation) = split(&dataset, settings.images)?;
        let (parameters, progress) = start(&settings, &console.run, kept)?;
        if let Some(world) = world {
            if is_first && let Some(warning) = distributed::idle_ranks(arguments, world, &settings) {
                command_line::warn(warning);
            }
            let mode = distributed::mode(arguments);
            distributed::require_equal(world, digests(&console.run, &progress, &settings, &mode))?;
        }
        let run =
            TrainingRun { arguments, is_first, settings: &settings, dataset: &dataset, validation, console, threads };
        if settings.augment {
            let (distortion, workers) = (Distortion::default(), arguments.workers.into());
            let hyperparameters = &settings.hyperparameters;
            return run
                .train(AugmentedEngine::new(&train, &parameters, hyperparameters, distortion, workers), progress);
        }
        if let (Some(world), Some(Distributed::Async)) = (world, arguments.distributed) {
            return distributed::by_masters(arguments, world, &settings, &train, &parameters, |engine| {
                run.train(engine, progress)
            });
        }
        if let Some(world) = world {
            let ranks = Box::new(CommunicatorRanks::new(world, arguments.allreduce));
            let engine = device::shard_engine(&device, &train, &parameters, &settings.hyperparameters, ranks)?;
            return run.train(if arguments.reproducible { engine.reproducible() } else { engine }, progress);
        }
        let hyperparameters = &settings.hyperparameters;
        let options = GpuOptions { path: arguments.gpu_path, ..GpuOptions::default() };
        let on_device = choice.engine(&device, &train, &parameters, hyperparameters, &options);
        let OnDevice { engine, times, .. } = device::with_way_out(on_device)?;
        if let Some(times) = times.filter(|_| !quiet) {
            command_line::say!("{times}");
        }
        run.train(engine, progress)
    };
    match world {
        None => with_worker_threads(arguments.cores, |threads| train(threads, None))?,
        // A communicator belongs to the thread that has got it.
        Some(_) => train(1, world),
    }
}

/// Checks that nothing is written to a file that is read.
fn require_other_files(arguments: &TrainArguments) -> Result<()> {
    let checkpoint = arguments.checkpoint.as_deref().map(checkpoint::path_in);
    let save = arguments.save.as_deref();
    if let (Some(save), Some(checkpoint)) = (save, &checkpoint)
        && save == checkpoint
    {
        bail!("--save {} is the file of --checkpoint: choose another name", save.display());
    }
    let save = save.map(|file| ("--save", file));
    require_distinct(save, checkpoint.as_slice())?;
    let outputs = save.into_iter().chain(checkpoint.as_deref().map(|file| ("--checkpoint", file)));
    Ok(require_distinct(outputs, &dataset::files(&arguments.data))?)
}

/// Digests of everything that a run's result depends on, in the order of [`distributed::DIGESTED`].
fn digests(run: &Run, progress: &Progress, settings: &Settings, mode: &str) -> [u32; distributed::DIGESTED.len()] {
    let images = format!("{} {} {:?}", run.dataset, run.data_checksum, run.convention);
    let flags = format!("{settings:?} {progress:?} {mode}");
    [env!("CARGO_PKG_VERSION"), &flags, &images].map(|text| crc32fast::hash(text.as_bytes()))
}

/// The checkpoint to resume from. An existing checkpoint without `--resume` is an error, because it would be
/// overwritten.
fn kept_checkpoint(arguments: &TrainArguments) -> Result<Option<Checkpoint>> {
    let Some(directory) = &arguments.checkpoint else { return Ok(None) };
    let kept = checkpoint::read(directory)?.map(|kept| kept.into_content(command_line::warn));
    match (&kept, arguments.resume) {
        (Some(_), false) => {
            let path = checkpoint::path_in(directory);
            bail!("{} exists: add --resume to resume from it, or choose another directory", path.display());
        }
        (None, true) => {
            command_line::note!("no checkpoint in {} yet: starting from the beginning", directory.display());
        }
        _ => {}
    }
    Ok(kept)
}

/// The inputs of a training run on any engine.
struct TrainingRun<'a> {
    arguments: &'a TrainArguments,
    /// Whether this is the only rank, or the one that prints and saves.
    is_first: bool,
    settings: &'a Settings,
    dataset: &'a Dataset,
    validation: Option<Samples>,
    console: Console<'a>,
    threads: usize,
}

impl TrainingRun<'_> {
    fn train<E: Engine>(self, engine: E, progress: Progress) -> Result<ExitCode> {
        let Self { arguments, is_first, settings, dataset, validation, mut console, threads } = self;
        let quiet = console.quiet;
        let mut training = Training::new(engine, settings.images.0, settings.hyperparameters.clone(), progress);
        if !quiet {
            command_line::say!("{}", description(settings, &training.engine().device()));
            let Progress { epoch, step, .. } = training.progress();
            if (*epoch, *step) != (0, 0) {
                command_line::say!("Resuming after epoch {epoch} and {step} steps.");
            }
        }
        // A resumed run keeps its settings.
        if is_first
            && (training.progress().epoch, training.progress().step) == (0, 0)
            && let Some(warning) = console.diagnosed.of_steps()
        {
            command_line::warn(warning);
        }
        if !training.progress().history.is_empty()
            && let Err(error) = console.resume(&training)
        {
            return Err(device_failed(&console, "the network could not be examined", &error));
        }
        // The first checkpoint is written before the first step, so that a killed process always leaves one.
        if let Some(directory) = &console.checkpoint
            && let Err(error) = console.save_checkpoint(directory, &training)
        {
            return failed(&console, error);
        }

        if !console.bar.is_hidden() {
            let Progress { epoch, step, .. } = training.progress();
            console.bar.set_position(steps_done(settings, *epoch, *step));
            console.bar.reset_eta();
        }
        let validation = validation.as_ref().map_or(Validation::Training, Validation::Apart);
        let outcome = training.run(&validation, &mut console);
        console.bar.finish_and_clear();
        match outcome {
            Ok(Outcome::Finished | Outcome::Reached) => {}
            // Rank 0 says it, and saves.
            Ok(Outcome::Stopped) | Err(TrainingError::Diverged { .. }) if !is_first => return Ok(ExitCode::SUCCESS),
            Ok(Outcome::Stopped) => return interrupted(&console, &training).or_else(|error| failed(&console, error)),
            Err(TrainingError::Observer(error)) => return failed(&console, error),
            Err(TrainingError::Diverged { epoch, diverged }) => {
                let ways_out = console.diagnosed.flags_for(Cause::LargeSteps);
                command_line::note!(
                    "error: training diverged in epoch {epoch}: {diverged}; choose a smaller learning rate: {ways_out}"
                );
                return Ok(ExitCode::from(CHECK_FAILED));
            }
            Err(error @ TrainingError::Communication { .. }) => bail!("{error}"),
            Err(TrainingError::Device { epoch, error }) => {
                let what = if error.is_out_of_memory() {
                    "the GPU's memory does not hold the buffers for measuring the accuracy, beside the network and its images, in"
                } else {
                    "the training's device failed in"
                };
                return Err(device_failed(&console, &format!("{what} epoch {epoch}"), &error));
            }
        }

        if !quiet && let Some(line) = stop(settings, training.reached()) {
            command_line::say!("{line}");
        }
        // Saved before the measurement, so that a device that fails there does not lose the network.
        if let Some(file) = arguments.save.as_ref().filter(|_| is_first) {
            let network = match training.engine().parameters() {
                Ok(parameters) => parameters.network,
                Err(error) => {
                    return Err(device_failed(&console, "the trained network is still on the device", &error));
                }
            };
            let model = Model { network, dataset: dataset.name.clone(), convention: dataset.convention };
            match arguments.save_for {
                SaveFor::NeuralNet => model_file::save(file, &model),
                SaveFor::Pytorch => model_file::save_for_pytorch(file, &model),
            }?;
        }
        let test = dataset.test.samples(0, dataset.test.len());
        let accuracy = match training.engine_mut().evaluate(&test) {
            Ok(evaluation) => evaluation.accuracy(),
            Err(error) => return Err(not_measured(arguments.save.as_deref(), &console, &error)),
        };
        // A run that is as good as was asked for has not failed.
        let is_enough =
            training.reached().is_some() || arguments.target_accuracy.is_some_and(|target| accuracy >= target);
        if !is_enough && let Err(error) = console.examine(&training, Some((accuracy, dataset.test.len()))) {
            return Err(not_measured(arguments.save.as_deref(), &console, &error));
        }
        let (reached, history) = (training.reached(), &training.progress().history);
        let result = TrainingReport { settings, dataset, history, reached, accuracy, threads };
        if !is_first {
            return Ok(ExitCode::SUCCESS);
        }
        if arguments.json {
            command_line::say!("{}", result.to_json(&training.engine().device()));
        } else {
            command_line::say!("Time to train: {:.2} seconds", result.seconds());
            command_line::say!(
                "Test Accuracy: {:.2} % ({}, {} images)",
                100.0 * accuracy,
                dataset.name,
                dataset.test.len()
            );
        }
        Ok(result.verdict(arguments.target_accuracy))
    }
}

/// The training samples, and the validation samples if their number is not 0.
fn split(dataset: &Dataset, images: (usize, usize)) -> Result<(Samples, Option<Samples>)> {
    let (train, validation) = images;
    let available = dataset.train.len();
    if train.checked_add(validation).is_none_or(|wanted| wanted > available) {
        bail!(
            "{train} training and {validation} validation images are more than the {available} of the training set: \
               choose smaller --train-images and --validation-images"
        );
    }
    let apart = (validation > 0).then(|| dataset.train.samples(train, validation));
    Ok((dataset.train.samples(0, train), apart))
}

/// Some images on which a network is examined: training images, and validation images if there are any.
fn examined(dataset: &Dataset, (train, validation): (usize, usize)) -> (Samples, Option<Samples>) {
    const MAX_IMAGES: usize = 500;
    let apart = (validation > 0).then(|| dataset.train.samples(train, validation.min(MAX_IMAGES)));
    (dataset.train.samples(0, train.min(MAX_IMAGES)), apart)
}

/// The initial parameters and progress: the checkpoint's, which must be of the same images, or new ones.
fn start(settings: &Settings, run: &LazyRun, kept: Option<Checkpoint>) -> Result<(Parameters, Progress)> {
    let Some(kept) = kept else {
        return Ok((initial_parameters(settings.architecture.clone(), &settings.hyperparameters), Progress::default()));
    };
    if kept.run.data_checksum != run.data_checksum {
        bail!(
            "the checkpoint was trained on other images ({}, not this {}): give the same --data, or start again without \
             --resume",
            kept.run.dataset,
            run.dataset
        );
    }
    Ok((kept.parameters, kept.run.progress))
}

fn run_of(settings: &Settings, dataset: &Dataset) -> Run {
    let (train, validation) = settings.images;
    let used = train.saturating_add(validation).min(dataset.train.len());
    let pixels = dataset.train.pixels.as_slice().expect("images are stored row by row");
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&pixels[..used * dataset.train.pixels.ncols()]);
    checksum.update(&dataset.train.labels[..used]);
    Run {
        preset: settings.preset,
        hyperparameters: settings.hyperparameters.clone(),
        dataset: dataset.name.clone(),
        convention: dataset.convention,
        data_checksum: checksum.finalize(),
        images: settings.images,
        augment: settings.augment,
        progress: Progress::default(),
    }
}

/// The number of steps of `epochs` epochs plus `steps`.
fn steps_done(settings: &Settings, epochs: usize, steps: usize) -> u64 {
    let images = settings.images.0;
    let steps_of_epoch = images.div_ceil(settings.hyperparameters.batch_size.unwrap_or(images).max(1));
    steps_of_epoch.saturating_mul(epochs).saturating_add(steps) as u64
}

/// One line on the network, the hyperparameters and the device.
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
        images.0,
    )
}

/// The bytes of the weights: the parameters, the optimizer's state, and the engine's copies of both with a transpose.
/// None on overflow.
fn bytes_needed(architecture: &Architecture) -> Option<u64> {
    let mut weights = architecture.sizes().windows(2).map(|pair| pair[0].checked_mul(pair[1]));
    let weights = weights.try_fold(0_usize, |total, weights| total.checked_add(weights?))?;
    u64::try_from(weights.checked_mul(7 * size_of::<f32>())?).ok()
}

/// One line on where `--stop-at` stopped the training run, or that it did not.
fn stop(settings: &Settings, reached: Option<&EpochRecord>) -> Option<String> {
    let target = 100.0 * settings.hyperparameters.stop_at?.accuracy;
    let word = settings.preset.epoch_word();
    Some(match reached {
        Some(EpochRecord { epoch, samples, accuracy, .. }) => {
            let (percent, all) = (100.0 * accuracy, settings.images.0);
            let seen = samples.unwrap_or(all);
            format!(
                "{word} {epoch}, stopped after {seen} of {all} images: accuracy {percent:.2} %, the target is {target:.2} %."
            )
        }
        None => format!("Not stopped early: the accuracy has not reached the target of {target:.2} %."),
    })
}

fn shown_sizes(architecture: &Architecture) -> String {
    architecture.sizes().iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
}

/// Saves a training run that Ctrl-C interrupted to its checkpoint, if it has one, and prints how to resume it.
fn interrupted<E: Engine>(console: &Console, training: &Training<E>) -> Result<ExitCode> {
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

/// The results of a finished training run.
struct TrainingReport<'a> {
    settings: &'a Settings,
    dataset: &'a Dataset,
    history: &'a [EpochRecord],
    /// The record that reached the target of `--stop-at`.
    reached: Option<&'a EpochRecord>,
    accuracy: f64,
    threads: usize,
}

impl TrainingReport<'_> {
    fn seconds(&self) -> f64 {
        self.history.iter().map(|record| record.seconds).sum()
    }

    fn to_json(&self, device: &str) -> serde_json::Value {
        let Settings { preset, architecture, hyperparameters, images, augment } = self.settings;
        json!({
            "program": "neural-net",
            "preset": preset,
            "dataset": self.dataset.name,
            "train_images": images.0,
            "validation_images": images.1,
            "test_images": self.dataset.test.len(),
            "sizes": architecture.sizes(),
            "hidden_activation": architecture.hidden_activation(),
            "output_activation": architecture.output_activation(),
            "hyperparameters": hyperparameters,
            "augment": augment,
            "device": device,
            "cores": self.threads,
            "epochs": self.history,
            "stopped_at": self.reached.map(|record| self.stopped_at(record)),
            "seconds": self.seconds(),
            "test_accuracy": self.accuracy,
        })
    }

    /// The epoch, the accuracy, and the number of images seen since the start of the run.
    fn stopped_at(&self, record: &EpochRecord) -> serde_json::Value {
        let images = self.settings.images.0;
        let seen = (record.epoch.saturating_sub(1)).saturating_mul(images) + record.samples.unwrap_or(images);
        json!({ "epoch": record.epoch, "images_seen": seen, "accuracy": record.accuracy })
    }

    /// Success, unless the test accuracy is below the target: `requested`, or the preset's on MNIST.
    fn verdict(&self, requested: Option<f64>) -> ExitCode {
        let of_preset = self.dataset.is_mnist.then(|| self.settings.preset.target_accuracy());
        match requested.or(of_preset) {
            Some(target) if self.accuracy < target => {
                let (reached, target) = (100.0 * self.accuracy, 100.0 * target);
                command_line::note!("The test accuracy of {reached:.2} % is below the target of {target:.2} %.");
                ExitCode::from(CHECK_FAILED)
            }
            _ => ExitCode::SUCCESS,
        }
    }
}
