//! `neural-net`: trains a network.
//!
//! [`Job`] loads the images and creates the engine for one of four kinds of training. [`start`] has
//! the initial state of a run, [`run`](mod@run) trains with the engine, and [`report`] prints the
//! results.

mod report;
mod run;
mod start;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use augmentation::Distortion;
use command_line::{require_memory, with_worker_threads};
use mpi_driver::Communicator;
use neural_net::Architecture;
use neural_net::augmented::AugmentedEngine;
use neural_net::checkpoint::{self, Checkpoint};
use neural_net::data::Dataset;
use neural_net::device::{OnDevice, OpenedDevice, TrainingDevice};
use neural_net::distributed::CommunicatorRanks;
use neural_net::engine::GpuOptions;
use neural_net::files::{DirectoryLock, require_distinct};
use neural_net::model_file;
use neural_net::preset::Preset;

use self::run::TrainingRun;
use super::arguments::{Distributed, TrainArguments};
use super::console::{Console, ExaminedImages, LazyRun, interrupt_flag, progress_bar};
use super::settings::Settings;
use super::warnings::Diagnosed;
use super::{dataset, device, distributed};

pub(crate) fn run(arguments: &TrainArguments) -> Result<ExitCode> {
    match arguments.distributed {
        Some(_) => distributed::run_ranks(arguments, |world, interrupted| train(arguments, Some(world), interrupted)),
        None => train(arguments, None, interrupt_flag()?),
    }
}

/// Trains; on a rank of `world`, together with the others. Only rank 0 prints, and only it reads
/// and writes files other than images.
fn train(arguments: &TrainArguments, world: Option<&Communicator>, interrupted: Arc<AtomicBool>) -> Result<ExitCode> {
    let is_first = world.is_none_or(|world| world.rank() == 0);
    if is_first {
        require_other_files(arguments)?;
    }
    let directory = arguments.checkpoint.as_deref().filter(|_| is_first);
    // The lock is held from before the checkpoint is read until the last one is written.
    let mut _lock = None;
    let mut read = || {
        _lock = directory.map(DirectoryLock::acquire).transpose()?;
        start::kept_checkpoint(arguments)
    };
    let kept = match world {
        None => read()?,
        Some(world) => distributed::shared_checkpoint(world, read)?,
    };
    let settings = settings(arguments, world, kept.as_ref())?;
    if let Some(file) = arguments.save.as_ref().filter(|_| is_first) {
        model_file::require_writable(file)?;
    }
    if settings.augment && (world.is_some() || !matches!(arguments.device, TrainingDevice::Auto | TrainingDevice::Cpu))
    {
        bail!("--augment trains on the CPU of one process: omit --device and --distributed");
    }
    let what = format!("training a {} network", run::shown_sizes(&settings.architecture));
    require_memory(&what, bytes_needed(&settings.architecture))?;
    let job = Job { arguments, settings, kept, interrupted, is_first };
    match world {
        None => with_worker_threads(arguments.cores, |threads| job.train(threads, None))?,
        // A communicator must stay on the thread that received it.
        Some(_) => job.train(1, world),
    }
}

/// The settings of a checkpoint or of the preset, with the flags that override them.
fn settings(arguments: &TrainArguments, world: Option<&Communicator>, kept: Option<&Checkpoint>) -> Result<Settings> {
    let flags = distributed::settings_flags(arguments, world)?;
    match kept {
        Some(Checkpoint { parameters, run }) => {
            Settings::of_checkpoint(parameters.network.architecture(), run, arguments.preset, &flags)
        }
        None => Settings::new(arguments.preset.unwrap_or(Preset::Homework), &flags),
    }
}

/// The four kinds of training.
#[derive(Clone, Copy)]
enum Kind<'a> {
    /// This process alone, on the device that the user chose.
    Alone,
    /// This process alone, on the CPU, with distorted images.
    Augmented,
    /// A rank that sums its gradients with the other ranks' in every step.
    Synchronous(&'a Communicator),
    /// A rank that is a worker, or a master that updates the weights.
    Asynchronous(&'a Communicator),
}

/// A training run before its images are loaded.
struct Job<'a> {
    arguments: &'a TrainArguments,
    settings: Settings,
    /// The checkpoint to resume from.
    kept: Option<Checkpoint>,
    interrupted: Arc<AtomicBool>,
    /// Whether this is the only rank, or rank 0.
    is_first: bool,
}

impl Job<'_> {
    /// Loads the images and trains on them.
    fn train(self, threads: usize, world: Option<&Communicator>) -> Result<ExitCode> {
        let kind = self.kind(world);
        let choice = match (self.arguments.device, kind) {
            (device, Kind::Alone) => device,
            // Do not open a GPU on all ranks if none of them uses it.
            (TrainingDevice::Auto, _) => TrainingDevice::Cpu,
            (device, _) => device,
        };
        let (dataset, device) = self.open(choice, world)?;
        let Self { arguments, settings, kept, interrupted, is_first } = self;
        let quiet = arguments.json || !is_first;
        let console = Console {
            preset: settings.preset,
            quiet,
            bar: progress_bar(run::steps_done(&settings, settings.hyperparameters.epochs, 0), quiet),
            interrupted,
            warns: is_first,
            diagnosed: Diagnosed {
                settings: &settings,
                workers: distributed::workers(arguments, world),
                available: dataset.train.len(),
            },
            examined: ExaminedImages::new(Box::new(|| start::examined(&dataset, settings.images))),
            warned: Vec::new(),
            checkpoint: arguments.checkpoint.as_deref().filter(|_| is_first).map(Path::to_path_buf),
            run: LazyRun::new(Box::new(|| start::new_run(&settings, &dataset))),
        };
        let (samples, validation) = start::split(&dataset, settings.images)?;
        let (parameters, progress) = start::parameters_and_progress(&settings, &console.run, kept)?;
        if let Some(world) = world {
            if is_first && let Some(warning) = distributed::idle_ranks(arguments, world, &settings) {
                command_line::warn(warning);
            }
            let mode = distributed::mode(arguments);
            distributed::require_equal(world, start::digests(&console.run, &progress, &settings, &mode))?;
        }
        let hyperparameters = &settings.hyperparameters;
        let run =
            TrainingRun { arguments, is_first, settings: &settings, dataset: &dataset, validation, console, threads };
        match kind {
            Kind::Alone => {
                let options = GpuOptions { path: arguments.gpu_path, ..GpuOptions::default() };
                let on_device = choice.engine(&device, &samples, &parameters, hyperparameters, &options);
                let OnDevice { engine, times, .. } = device::with_way_out(on_device)?;
                if let Some(times) = times.filter(|_| !quiet) {
                    command_line::say!("{times}");
                }
                run.train(engine, progress)
            }
            Kind::Augmented => {
                let (distortion, workers) = (Distortion::default(), arguments.workers.into());
                let engine = AugmentedEngine::new(&samples, &parameters, hyperparameters, distortion, workers);
                run.train(Box::new(engine), progress)
            }
            Kind::Synchronous(world) => {
                let ranks = Box::new(CommunicatorRanks::new(world, arguments.allreduce));
                let engine = device::shard_engine(&device, &samples, &parameters, hyperparameters, ranks)?;
                let engine = if arguments.reproducible { engine.reproducible() } else { engine };
                run.train(Box::new(engine), progress)
            }
            Kind::Asynchronous(world) => {
                let train = |engine| run.train(Box::new(engine), progress);
                distributed::by_masters(arguments, world, &settings, &samples, &parameters, train)
            }
        }
    }

    fn kind<'w>(&self, world: Option<&'w Communicator>) -> Kind<'w> {
        match (world, self.arguments.distributed) {
            (Some(world), Some(Distributed::Async)) => Kind::Asynchronous(world),
            (Some(world), _) => Kind::Synchronous(world),
            (None, _) if self.settings.augment => Kind::Augmented,
            (None, _) => Kind::Alone,
        }
    }

    /// Loads the images while the device starts, and checks that they match the settings.
    fn open(&self, choice: TrainingDevice, world: Option<&Communicator>) -> Result<(Dataset, OpenedDevice)> {
        let Self { arguments, settings, .. } = self;
        let rank = world.map_or(0, Communicator::rank);
        let (dataset, origin) = choice.prepare_beside(rank, || dataset::load(&arguments.data))?;
        let device = device::open(choice, arguments.gpu_path, rank)?;
        if self.is_first && !arguments.json {
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
        Ok((dataset, device))
    }
}

/// Checks that no output file is also an input file.
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

/// The bytes for the weights: the parameters, the optimizer's state, and the engine's copies of
/// both with a transpose. `None` on overflow.
fn bytes_needed(architecture: &Architecture) -> Option<u64> {
    let mut weights = architecture.sizes().windows(2).map(|pair| pair[0].checked_mul(pair[1]));
    let weights = weights.try_fold(0_usize, |total, weights| total.checked_add(weights?))?;
    u64::try_from(weights.checked_mul(7 * size_of::<f32>())?).ok()
}
