//! Latencies of launches and barriers, and the training step by the number of blocks: `cargo xtask gpu-check` runs it.

use std::cell::RefCell;
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use gpu::{Device, DeviceChoice, LaunchConfig};
use kernels_gpu::latency::{empty_kernel, grid_barriers};
use ndarray::Array2;
use neural_net::engine::{Engine, GpuEngine, GpuOptions, GpuPath, Parameters};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::{Hyperparameters, Network, Samples};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use timing::program::{self, one_of, parse_count, parse_repeats};
use timing::{Measurement, Report, seconds_of_repeats};

/// The numbers of blocks that are compared.
const BLOCKS: [u32; 4] = [8, 16, 32, 64];
/// Threads of a block in the barriers' launches: those of the persistent kernel.
const THREADS: u32 = 256;
/// Empty launches between two events, or in one graph.
const LAUNCHES: u32 = 200;
/// Barriers of a launch.
const BARRIERS: u32 = 1000;

/// Times launches, grid barriers and training steps on a GPU
#[derive(Parser)]
struct Arguments {
    /// What to time
    part: Part,
    /// Where to run; only a GPU has times
    #[arg(long, default_value_t, value_parser = one_of(&DeviceChoice::ALL, DeviceChoice::name, DeviceChoice::description))]
    device: DeviceChoice,
    /// How often each is timed, after one call to warm up
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_repeats)]
    repeats: NonZeroUsize,
    /// Steps of a timed call of the training
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_count)]
    steps: NonZeroUsize,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Empty launches, one by one and in a graph, and grid barriers
    Latency,
    /// Training steps in one launch, by the number of blocks and in one cluster
    Persistent,
    /// Training steps as launches for each step
    Steps,
}

fn main() -> ExitCode {
    let arguments: Arguments = program::arguments();
    program::run(|| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let device = Device::open(arguments.device, gpu::KERNELS)?;
    let mut sweep = Sweep { device, report: Report::new("gpu_sweep", arguments.json), repeats: arguments.repeats };
    match arguments.part {
        Part::Latency => sweep.latency()?,
        Part::Persistent => {
            let problem = Problem::random(arguments.steps)?;
            for blocks in BLOCKS {
                let max_blocks = NonZeroU32::new(blocks);
                let options = GpuOptions { path: GpuPath::Persistent, max_blocks, no_clusters: true };
                sweep.training(&format!("step in one launch, at most {blocks} blocks"), &options, &problem)?;
            }
            let options = GpuOptions { path: GpuPath::Persistent, max_blocks: None, no_clusters: false };
            sweep.training("step in one launch, one cluster where the GPU has clusters", &options, &problem)?;
        }
        Part::Steps => {
            let options = GpuOptions { path: GpuPath::Steps, max_blocks: None, no_clusters: false };
            sweep.training("step as launches", &options, &Problem::random(arguments.steps)?)?;
        }
    }
    Ok(sweep.report.finish())
}

struct Sweep {
    device: Device,
    report: Report,
    repeats: NonZeroUsize,
}

impl Sweep {
    fn latency(&mut self) -> Result<()> {
        let empty = || self.device.launch(&empty_kernel, LaunchConfig::new(1, 32), ()).map(|_| ());
        let alone = self.device.time_repeats(self.repeats, empty)?;
        let in_a_row = self.device.time_repeats(self.repeats, || (0..LAUNCHES).try_for_each(|_| empty()))?;
        let in_a_graph = self.device.time_repeats(self.repeats, || {
            self.device.replay(1, |recorder| {
                (0..LAUNCHES).try_for_each(|_| recorder.launch(&empty_kernel, LaunchConfig::new(1, 32), ()))
            })
        })?;
        self.time("empty launch", alone, 1);
        self.time("empty launch of many", in_a_row, LAUNCHES);
        self.time("empty launch in a graph", in_a_graph, LAUNCHES);

        let barrier = RefCell::new(self.device.zeroed::<u32>(1)?);
        let resident = self.device.max_cooperative_blocks(&grid_barriers, THREADS, 0)?;
        for blocks in BLOCKS.into_iter().filter(|&blocks| blocks <= resident) {
            let config = LaunchConfig::new(blocks, THREADS).cooperative();
            let wait = |rounds| {
                self.device.time_repeats(self.repeats, || {
                    let mut barrier = barrier.borrow_mut();
                    self.device.launch(&grid_barriers, config, (rounds, &mut *barrier)).map(|_| ())
                })
            };
            let (many, none) = (wait(BARRIERS)?, wait(0)?);
            let launch = none.and_then(Measurement::of).map_or(0.0, |none| none.median);
            let seconds = many.map(|many| many.into_iter().map(|seconds| (seconds - launch).max(0.0)).collect());
            self.time(&format!("grid barrier, {blocks} blocks"), seconds, BARRIERS);
        }
        Ok(())
    }

    /// Records the seconds of one of `count` operations, where the device has times.
    fn time(&mut self, label: &str, seconds: Option<Vec<f64>>, count: u32) {
        let one = |seconds: Vec<f64>| seconds.into_iter().map(|seconds| seconds / f64::from(count)).collect();
        if let Some(measurement) = seconds.map(one).and_then(Measurement::of) {
            self.report.time(label, "", measurement);
        }
    }

    /// Times steps by the host's clock around calls of all of them.
    fn training(&mut self, label: &str, options: &GpuOptions, problem: &Problem) -> Result<()> {
        let Problem { hyperparameters, samples, parameters, order, steps } = problem;
        let mut engine = GpuEngine::new(&self.device, samples, parameters, hyperparameters, options)?;
        let mut done = 0;
        let mut outcome = Ok(());
        let seconds = seconds_of_repeats(self.repeats, || {
            if outcome.is_ok() {
                done = 0;
                outcome = engine.train(order, 0, &mut |_, _| {
                    done += 1;
                    ControlFlow::Continue(())
                });
            }
        });
        outcome?;
        ensure!(done == steps.get(), "{done} steps were made instead of {steps}");
        self.time(label, self.device.is_gpu().then_some(seconds), u32::try_from(steps.get())?);
        Ok(())
    }
}

/// Steps of the homework's network on random images with random labels; four of five pixels are zero, as in MNIST.
struct Problem {
    hyperparameters: Hyperparameters,
    samples: Samples<f32>,
    parameters: Parameters<f32>,
    order: Vec<u32>,
    steps: NonZeroUsize,
}

impl Problem {
    fn random(steps: NonZeroUsize) -> Result<Self> {
        let hyperparameters = Preset::Homework.hyperparameters();
        let count = hyperparameters.batch_size.context("the homework has batches")? * steps.get();
        let end = u32::try_from(count).context("fewer steps: the samples are counted in 32 bits")?;
        let mut rng = ChaCha8Rng::seed_from_u64(hyperparameters.seed);
        let network = Network::random(Preset::Homework.architecture()?, Initialization::Xavier, &mut rng);
        let (inputs, outputs) = (network.architecture().inputs(), network.architecture().outputs());
        let pixel = || if rng.random_bool(0.8) { 0.0 } else { rng.random_range(0.0..1.0) };
        let images = Array2::from_shape_simple_fn((count, inputs), pixel);
        let mut targets = Array2::zeros((count, outputs));
        targets.outer_iter_mut().for_each(|mut target| target[rng.random_range(0..outputs)] = 1.0);
        let (samples, parameters) = (Samples::new(images, targets)?, Parameters::new(network));
        Ok(Self { hyperparameters, samples, parameters, order: (0..end).collect(), steps })
    }
}
