//! Latencies of launches, barriers and a cluster's shared memory, and the training step by the number of blocks:
//! `cargo xtask gpu-check` runs it.

use std::cell::RefCell;
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use command_line::{one_of, parse_count, parse_repeats};
use gpu::{Device, DeviceChoice, LaunchConfig};
use kernels_gpu::latency::{
    CLUSTER, block_barriers, cluster_barriers, cluster_exchanges, cluster_loads, empty_kernel, grid_barriers,
};
use ndarray::Array2;
use neural_net::engine::{Engine, GpuEngine, GpuOptions, GpuPath, Parameters};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::{Hyperparameters, Network, Samples};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use timing::{Measurement, Report, seconds_of_repeats};

/// The maximum numbers of blocks that are compared; the plan of the homework's network has at most 32.
const BLOCKS: [u32; 3] = [8, 16, 32];
/// Threads of a block in the barriers' launches: those of the persistent kernel.
const THREADS: u32 = 256;
/// Empty launches between two events, or in one graph.
const LAUNCHES: u32 = 200;
/// Replays of that graph between two events.
const REPLAYS: u32 = 20;
/// Barriers, loads or exchanges of a launch, and those of a device that is not timed.
const ROUNDS: u32 = 1000;
const UNTIMED_ROUNDS: u32 = 2;

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
    /// Empty launches, one by one and in a graph; barriers of a block, a cluster and the grid; loads and exchanges within
    /// a cluster
    Latency,
    /// Training steps in one launch, by the number of blocks and in one cluster
    Persistent,
    /// Training steps as launches for each step
    Steps,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let ptx = match arguments.part {
        Part::Latency => &kernels_gpu::PTX,
        Part::Persistent | Part::Steps => &kernels_gpu::ptx::NETWORK,
    };
    let device = Device::open(arguments.device, ptx)?;
    let mut sweep = Sweep { device, report: Report::new("gpu_sweep", arguments.json), repeats: arguments.repeats };
    match arguments.part {
        Part::Latency => sweep.latency()?,
        Part::Persistent => {
            let problem = Problem::random(arguments.steps)?;
            for max_blocks in BLOCKS.map(NonZeroU32::new) {
                let options = GpuOptions { path: GpuPath::Persistent, max_blocks, no_clusters: true };
                sweep.training(&options, &problem)?;
            }
            sweep.training(&GpuOptions { path: GpuPath::Persistent, ..GpuOptions::default() }, &problem)?;
        }
        Part::Steps => {
            let options = GpuOptions { path: GpuPath::Steps, ..GpuOptions::default() };
            sweep.training(&options, &Problem::random(arguments.steps)?)?;
        }
    }
    sweep.report.gpu_facts(sweep.device.l2_bytes(), sweep.device.clock_rate()?);
    Ok(sweep.report.finish())
}

struct Sweep {
    device: Device,
    report: Report,
    repeats: NonZeroUsize,
}

impl Sweep {
    fn latency(&mut self) -> Result<()> {
        let empty = || self.device.launch(&empty_kernel, LaunchConfig::new(1, 32), ()).map(drop);
        let alone = self.device.time_repeats(self.repeats, |_| empty())?;
        let in_a_row = self.device.time_repeats(self.repeats, |_| (0..LAUNCHES).try_for_each(|_| empty()))?;
        // The capture and the upload of the graph count in either time, and cancel out.
        let replayed = |times: u32| {
            self.device.time_repeats(self.repeats, |_| {
                self.device.replay(times as usize, |recorder| {
                    (0..LAUNCHES).try_for_each(|_| recorder.launch(&empty_kernel, LaunchConfig::new(1, 32), ()))
                })
            })
        };
        let (many, once) = (replayed(REPLAYS + 1)?, replayed(1)?);
        self.time("empty launch", alone, 1);
        self.time("empty launch of many", in_a_row, LAUNCHES);
        self.time("empty launch in a graph", beyond(many, once), REPLAYS * LAUNCHES);

        let of_block = LaunchConfig::new(1, THREADS);
        self.rounds("block barrier", |device, rounds| device.launch(&block_barriers, of_block, (rounds,)).map(drop))?;
        let barrier = RefCell::new(self.device.zeroed::<u32>(1)?);
        let resident = self.device.max_cooperative_blocks(&grid_barriers, THREADS, 0)?;
        for blocks in BLOCKS.into_iter().filter(|&blocks| blocks <= resident) {
            let config = LaunchConfig::new(blocks, THREADS).cooperative();
            self.rounds(&format!("grid barrier, {blocks} blocks"), |device, rounds| {
                device.launch(&grid_barriers, config, (rounds, &mut *barrier.borrow_mut())).map(drop)
            })?;
        }
        self.clusters()
    }

    /// Latencies within a cluster, where the device has clusters of this size.
    fn clusters(&mut self) -> Result<()> {
        let config = LaunchConfig::new(CLUSTER, THREADS).clusters_of(CLUSTER);
        if self.device.max_clusters(&cluster_barriers, config)? == 0 {
            self.report.remark("clusters", "the device has no clusters of this size");
            return Ok(());
        }
        let label = |what: &str| format!("{what}, {CLUSTER} blocks");
        let barrier = |device: &Device, rounds| device.launch(&cluster_barriers, config, (rounds,)).map(drop);
        self.rounds(&label("cluster barrier"), barrier)?;
        let last = RefCell::new(self.device.uninitialized::<u32>(CLUSTER as usize)?);
        let of_loads = config.with_dynamic_shared(16 * THREADS);
        for (distance, what) in [(0, "load from a block's own shared memory"), (1, "load from another block's")] {
            self.rounds(&label(what), |device, rounds| {
                device.launch(&cluster_loads, of_loads, (distance, rounds, &mut *last.borrow_mut())).map(drop)
            })?;
        }
        let values = RefCell::new(self.device.uninitialized::<f32>((CLUSTER * THREADS) as usize)?);
        let of_exchanges = config.with_dynamic_shared(32 * THREADS);
        self.rounds(&label("store to another block's, barrier and load"), |device, rounds| {
            device.launch(&cluster_exchanges, of_exchanges, (rounds, &mut *values.borrow_mut())).map(drop)
        })
    }

    /// Times one round of a launch of many: the time of a launch without rounds is subtracted.
    fn rounds(&mut self, label: &str, mut launch: impl FnMut(&Device, u32) -> Result<(), gpu::Error>) -> Result<()> {
        let mut time = |rounds| self.device.time_repeats(self.repeats, |_| launch(&self.device, rounds));
        let count = if self.device.is_gpu() { ROUNDS } else { UNTIMED_ROUNDS };
        let (many, none) = (time(count)?, time(0)?);
        self.time(label, beyond(many, none), count);
        Ok(())
    }

    /// Records the seconds of one of `count` operations, where the device has times.
    fn time(&mut self, label: &str, seconds: Option<Vec<f64>>, count: u32) {
        let one = |seconds: Vec<f64>| seconds.into_iter().map(|seconds| seconds / f64::from(count)).collect();
        if let Some(measurement) = seconds.map(one).and_then(Measurement::of) {
            self.report.time(label, "", measurement);
        }
    }

    /// Times steps by the host's clock around calls of all of them. The label names the kernel that the engine chose.
    fn training(&mut self, options: &GpuOptions, problem: &Problem) -> Result<()> {
        let Problem { hyperparameters, samples, parameters, order, steps } = problem;
        let mut engine = GpuEngine::new(&self.device, samples, parameters, hyperparameters, options)?;
        let label = match engine.training_kernel() {
            Some((kernel, blocks)) => kernel.step_label(blocks),
            None => "step as launches".to_owned(),
        };
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
        self.time(&label, self.device.is_gpu().then_some(seconds), u32::try_from(steps.get())?);
        Ok(())
    }
}

/// Each time less the median of the other ones.
fn beyond(seconds: Option<Vec<f64>>, other: Option<Vec<f64>>) -> Option<Vec<f64>> {
    let other = other.and_then(Measurement::of)?.median;
    Some(seconds?.into_iter().map(|seconds| (seconds - other).max(0.0)).collect())
}

/// Steps of the homework's network on random images with random labels; four of five pixels are zero, as in MNIST.
struct Problem {
    hyperparameters: Hyperparameters,
    samples: Samples,
    parameters: Parameters,
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
        let pixel = || if rng.random_bool(0.8) { 0.0 } else { f32::from(rng.random::<u8>()) / 255.0 };
        let images = Array2::from_shape_simple_fn((count, inputs), pixel);
        let mut targets = Array2::zeros((count, outputs));
        targets.outer_iter_mut().for_each(|mut target| target[rng.random_range(0..outputs)] = 1.0);
        let (samples, parameters) = (Samples::new(images, targets)?, Parameters::new(network));
        Ok(Self { hyperparameters, samples, parameters, order: (0..end).collect(), steps })
    }
}
