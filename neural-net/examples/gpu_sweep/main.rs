//! Measures latencies, rates of arithmetic and memory, the parts of a copy, and training steps.
//! `cargo xtask gpu-check` runs it.

mod copies;
mod latency;
mod rates;
mod start;
mod training;

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use command_line::{one_of, parse_count, parse_repeats};
use gpu::{Device, DeviceChoice};
use timing::{Measurement, Report};

use self::training::Problem;

/// Rounds of a timed launch on a device that is timed, and on one that is not.
const ROUNDS: u32 = 1000;
const UNTIMED_ROUNDS: u32 = 2;

/// Times launches, exchanges, rates, copies and training steps on a GPU
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
    /// Startup until the first kernel has run, measured once: driver, device, kernels
    Start,
    /// Empty launches, one by one and in a graph; barriers of a block, a cluster and the grid; loads within a cluster, and
    /// exchanges in clusters of 2, 4, 8 and 16 blocks
    Latency,
    /// Tensor-core products and multiply-adds of a multiprocessor, and the memory bandwidth
    Rates,
    /// The five parts of a computation with copies: allocate, upload, launch, download, free
    Copies,
    /// The homework's training steps in one launch, by the number of blocks and in one cluster
    Persistent,
    /// The homework's training steps as launches for each step
    Steps,
    /// The regressor's steps by Adam, 8-32-16-1 in batches of 128, in one launch and as launches for each step
    Adam,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let ptx = match arguments.part {
        Part::Start | Part::Latency | Part::Rates | Part::Copies => &kernels_gpu::PTX,
        Part::Persistent | Part::Steps | Part::Adam => &kernels_gpu::ptx::NETWORK,
    };
    let start = (arguments.part == Part::Start).then(start::prepared);
    let device = Device::open(arguments.device, ptx)?;
    let mut sweep = Sweep { device, report: Report::new("gpu_sweep", arguments.json), repeats: arguments.repeats };
    if let Some(start) = start {
        sweep.start(start)?;
    }
    match arguments.part {
        Part::Start => {}
        Part::Latency => sweep.latency()?,
        Part::Rates => sweep.rates()?,
        Part::Copies => sweep.copies()?,
        Part::Persistent => sweep.persistent(&Problem::homework(arguments.steps)?)?,
        Part::Steps => sweep.launches(&Problem::homework(arguments.steps)?)?,
        Part::Adam => sweep.adam(&Problem::regressor(arguments.steps)?)?,
    }
    sweep.report.gpu_facts(sweep.device.l2_bytes(), sweep.device.clock_rate()?);
    sweep.report.fact("multiprocessors", sweep.device.multiprocessors());
    Ok(sweep.report.finish())
}

struct Sweep {
    device: Device,
    report: Report,
    repeats: NonZeroUsize,
}

impl Sweep {
    /// Times one round of a launch with many rounds, each with `operations` of that name. Subtracts
    /// the time of a launch without rounds.
    fn rounds(
        &mut self,
        label: &str,
        operations: u32,
        mut launch: impl FnMut(&Device, u32) -> Result<(), gpu::Error>,
    ) -> Result<()> {
        let mut time = |rounds| self.device.time_repeats(self.repeats, |_| launch(&self.device, rounds));
        let count = if self.device.is_gpu() { ROUNDS } else { UNTIMED_ROUNDS };
        let (many, none) = (time(count)?, time(0)?);
        self.time(label, beyond(many, none), count * operations);
        Ok(())
    }

    /// Records the seconds of one of `count` operations, if the device reports times.
    fn time(&mut self, label: &str, seconds: Option<Vec<f64>>, count: u32) {
        let one = |seconds: Vec<f64>| seconds.into_iter().map(|seconds| seconds / f64::from(count)).collect();
        if let Some(measurement) = seconds.map(one).and_then(Measurement::of) {
            self.report.time(label, "", measurement);
        }
    }
}

/// Each time minus the median of the other times.
fn beyond(seconds: Option<Vec<f64>>, other: Option<Vec<f64>>) -> Option<Vec<f64>> {
    let other = other.and_then(Measurement::of)?.median;
    Some(seconds?.into_iter().map(|seconds| (seconds - other).max(0.0)).collect())
}
