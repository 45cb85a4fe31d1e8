//! The jobs of ranks. Ranks run the same program again, started by `mpiexec`, or are threads of this one.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Stdio;

use distributed_functions::{AllReduce, Measured, measure};
use mpi_driver::{Communicator, Ranks, Universe, ranks_by, threads};
use neural_net::asynchronous::{CommunicatorMasters, Served, Staleness, StalenessRule, leave, serve};
use neural_net::data::{Dataset, ToSamples};
use neural_net::distributed::CommunicatorRanks;
use neural_net::engine::{Engine, Parameters, ShardEngine, WorkerEngine};
use neural_net::preset::Preset;
use neural_net::training::{
    EpochRecord, GradientScale, Observer, Optimizer, Progress, Training, TrainingError, Validation,
};
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Samples};
use serde::{Deserialize, Serialize};

use super::Trained;

/// A job for a number of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Job {
    /// Times the all-reduces.
    AllReduce {
        /// Elements of the buffers.
        lengths: Vec<usize>,
        /// Timed calls.
        repeats: NonZeroUsize,
        /// Seed of the random input.
        seed: u64,
    },
    /// Trains a network without validation.
    Train(TrainJob),
}

/// A training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainJob {
    /// The training mode.
    pub mode: Mode,
    /// Samples in a batch.
    pub batch: usize,
    /// Number of epochs.
    pub epochs: usize,
    /// Number of training images.
    pub images: usize,
    /// Seed of the weights and permutations.
    pub seed: u64,
    /// Folder with MNIST's files, if given.
    pub data: Option<PathBuf>,
}

/// Training modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// The homework's settings, synchronously.
    Homework,
    /// Adam on means over large batches, synchronously.
    LargeBatches,
    /// ReLU, softmax and cross-entropy, asynchronously with workers and masters.
    Asynchronous {
        /// Number of masters among the ranks.
        masters: usize,
        /// Whether masters ignore the staleness.
        ignores_staleness: bool,
    },
}

/// The result of a job, on rank 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Done {
    /// The result of [`Job::AllReduce`].
    AllReduce(Vec<Measured>),
    /// The result of [`Job::Train`].
    Train(Trained),
}

/// The environment variable that holds a rank's job as JSON.
const VARIABLE: &str = "REPORT_JOB";

/// Runs the job in the environment variable if [`run`] has started this process as a rank. Rank 0
/// prints the result. Returns `None` in other processes.
///
/// # Errors
/// The reason why the job failed, in one line.
pub fn run_if_rank() -> Option<Result<(), String>> {
    let job = std::env::var(VARIABLE).ok()?;
    Some((|| {
        let job: Job = serde_json::from_str(&job).map_err(|error| format!("{VARIABLE}: {error}"))?;
        let universe = Universe::initialize().map_err(|error| error.to_string())?;
        let world = universe.world();
        let done = run_on(world, &job).unwrap_or_else(|error| {
            command_line::note!("error: rank {}: {error}", world.rank());
            // The other ranks may be waiting for this one.
            world.abort(1)
        });
        if world.rank() == 0 {
            command_line::say!("{}", serde_json::to_string(&done).expect("the result is plain data"));
        }
        Ok(())
    })())
}

/// Describes this machine's ranks in words.
///
/// # Errors
/// If this process is already a rank, or MPI fails.
pub fn library() -> Result<String, String> {
    match Ranks::find().map_err(|error| error.to_string())? {
        Ranks::Started(_) => Err("the report starts its own ranks: start it without mpiexec".to_owned()),
        Ranks::ByMpiexec(_) => Universe::available().map(|(_, version)| version).map_err(|error| error.to_string()),
        Ranks::Threads(reason) => Ok(format!("threads of one process ({reason})")),
    }
}

/// Runs a job on `ranks` ranks of this machine.
///
/// # Errors
/// The reason why it failed, in one line.
pub fn run(ranks: usize, job: &Job) -> Result<Done, String> {
    let Ranks::ByMpiexec(mpiexec) = Ranks::find().map_err(|error| error.to_string())? else {
        let mut done = threads(ranks, |world| run_on(world, job)).into_iter().collect::<Result<Vec<_>, _>>()?;
        return Ok(done.swap_remove(0));
    };
    let program = std::env::current_exe().map_err(|error| format!("this program's path: {error}"))?;
    let text = serde_json::to_string(job).expect("a job is plain data");
    let output = ranks_by(&mpiexec, ranks).arg(program).env(VARIABLE, text).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{}: {error}", mpiexec.display()))?;
    if !output.status.success() {
        return Err(format!("{ranks} ranks of {} failed ({})", mpiexec.display(), output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the ranks' result cannot be read: {error}"))
}

/// Runs a job on a rank of `world`.
fn run_on(world: &Communicator, job: &Job) -> Result<Done, String> {
    match job {
        Job::AllReduce { lengths, repeats, seed } => {
            let measured = measure(world, lengths, *repeats, *seed).map_err(|error| error.to_string())?;
            if let Some(wrong) = measured.iter().find(|measured| measured.wrong > 0) {
                return Err(format!("an all-reduce of {} elements computes a wrong sum", wrong.length));
            }
            Ok(Done::AllReduce(measured))
        }
        Job::Train(job) => train(world, job).map(Done::Train),
    }
}

impl Mode {
    fn architecture(self) -> Architecture {
        let (hidden, output) = match self {
            Self::Asynchronous { .. } => (Activation::Relu, Activation::Softmax),
            Self::Homework | Self::LargeBatches => (Activation::Sigmoid, Activation::Sigmoid),
        };
        Architecture::new(Preset::Homework.sizes(), hidden, output).expect("the homework's layers are valid")
    }

    fn hyperparameters(self, job: &TrainJob) -> Hyperparameters {
        let homework = Preset::Homework.hyperparameters();
        let common = Hyperparameters { batch_size: Some(job.batch), epochs: job.epochs, seed: job.seed, ..homework };
        match self {
            Self::Homework => common,
            Self::LargeBatches => Hyperparameters {
                gradient: GradientScale::Mean,
                optimizer: Optimizer::Adam,
                learning_rate: 0.005,
                momentum: 0.9,
                ..common
            },
            Self::Asynchronous { .. } => Hyperparameters { loss: Loss::CrossEntropy, learning_rate: 0.01, ..common },
        }
    }
}

/// Trains on a rank of `world`. Only rank 0's result counts.
fn train(world: &Communicator, job: &TrainJob) -> Result<Trained, String> {
    let dataset = Dataset::find(job.data.as_deref()).map_err(|error| error.to_string())?;
    if dataset.train.len() < job.images {
        return Err(format!("{} has {} training images: {} are needed", dataset.name, dataset.train.len(), job.images));
    }
    let (train, test) = (dataset.train.samples(0, job.images), dataset.test.samples(0, dataset.test.len()));
    let hyperparameters = job.mode.hyperparameters(job);
    let parameters = neural_net::training::initial_parameters(job.mode.architecture(), &hyperparameters);
    let run = Run { job, hyperparameters: &hyperparameters, train: &train, test: &test };
    match job.mode {
        Mode::Homework | Mode::LargeBatches => {
            let ranks = Box::new(CommunicatorRanks::new(world, AllReduce::Ring));
            let trained = run.on(ShardEngine::new(&train, &parameters, &hyperparameters, ranks))?;
            Ok(Trained { ranks: world.size(), ..trained })
        }
        Mode::Asynchronous { masters, ignores_staleness } => {
            let staleness = if ignores_staleness { Staleness::Ignore } else { Staleness::Aware };
            run.by_masters(world, masters, staleness, &parameters)
        }
    }
}

/// The inputs of a training run.
struct Run<'a> {
    job: &'a TrainJob,
    hyperparameters: &'a Hyperparameters,
    train: &'a Samples,
    test: &'a Samples,
}

/// An observer that never stops a training run.
struct Silent;

impl<E: Engine> Observer<E> for Silent {
    type Error = Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn epoch(&mut self, _record: &EpochRecord, _training: &Training<E>) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Run<'_> {
    fn on<E: Engine>(&self, engine: E) -> Result<Trained, String> {
        let (count, job) = (self.train.len(), self.job);
        // Accuracy is measured once, at the end, on the test images.
        let hyperparameters = Hyperparameters { report_every: job.epochs.max(1), ..self.hyperparameters.clone() };
        let mut training = Training::new(engine, count, hyperparameters, Progress::default());
        let ended = training.run(&Validation::Apart(self.test), &mut Silent);
        let mut trained = Trained { batch: job.batch, epochs: job.epochs, ..Trained::default() };
        match ended {
            Ok(_) => {
                let last = training.progress().history.last().ok_or("no epoch was trained")?;
                (trained.seconds, trained.accuracy) = (last.seconds, last.accuracy);
            }
            Err(TrainingError::Diverged { .. }) => trained.diverged = true,
            Err(error) => return Err(error.to_string()),
        }
        Ok(trained)
    }

    fn by_masters(
        &self,
        world: &Communicator,
        masters: usize,
        staleness: Staleness,
        parameters: &Parameters,
    ) -> Result<Trained, String> {
        let workers = world.size().checked_sub(masters).filter(|&workers| workers > 0).ok_or("there is no worker")?;
        let is_master = world.rank() >= workers;
        let text = |error: mpi_driver::Error| error.to_string();
        let group = world.split(u32::from(is_master), world.rank()).map_err(text)?;
        let (trained, served) = match is_master {
            true => {
                let rule = StalenessRule { staleness, max: 4 * workers };
                (None, serve(world, masters, parameters, self.hyperparameters, rule).map_err(text)?)
            }
            false => {
                let of_worker = Box::new(CommunicatorMasters::new(world, group, masters));
                let trained = self.on(WorkerEngine::new(self.train, parameters, self.hyperparameters, of_worker))?;
                leave(world, masters).map_err(text)?;
                (Some(trained), Served::NONE)
            }
        };
        let staleness = served.sum(world).map_err(text)?.mean();
        Ok(Trained { ranks: workers, masters, staleness, ..trained.unwrap_or_default() })
    }
}
