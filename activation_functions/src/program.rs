//! The program: its arguments, its random input, checks and times.

mod checks;
mod times;

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use command_line::{HomeworkOptions, one_of, parse_size, require_memory, with_worker_threads};
use gpu::{Device, DeviceChoice};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use timing::Report;

/// Maximum number of values. With their results, they take a few GB.
const MAX_VALUES: usize = 100_000_000;

/// Greyscale values normalized, weighed and activated: one loop each, in parallel, and on the GPU
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
    /// Number of values, at most 100000000
    #[arg(short, long = "number", value_name = "N", default_value = "1000000", value_parser = parse_number)]
    number: NonZeroUsize,
    /// Device of the GPU versions; the simulator and the PTX interpreter check them, but are never timed
    #[arg(long, default_value_t, value_parser = one_of(&DeviceChoice::ALL, DeviceChoice::name, DeviceChoice::description))]
    device: DeviceChoice,
}

fn parse_number(text: &str) -> Result<NonZeroUsize, String> {
    match parse_size(text)? {
        number if number.get() > MAX_VALUES => Err(format!("at most {MAX_VALUES} values: choose a smaller number")),
        number => Ok(number),
    }
}

/// Greyscale values and their weights, in slices of the same length.
#[derive(Clone, Copy)]
struct Input<'a> {
    values: &'a [f32],
    weights: &'a [f32],
}

pub(crate) fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| {
        let number = arguments.number.get();
        require_memory(&format!("the activation of {number} values"), Some(bytes_needed(number)))?;
        with_worker_threads(arguments.homework.cores, |threads| check_and_time(&arguments, threads))?
    })
}

fn check_and_time(arguments: &Arguments, threads: usize) -> Result<ExitCode> {
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;
    let device = Device::open(arguments.device, &kernels_gpu::ptx::GREYSCALE)?;
    let (values, weights) = random_input(arguments.number.get(), seed)?;
    let input = Input { values: &values, weights: &weights };

    let mut report = Report::new("activation_functions", json);
    report.fact("n", values.len());
    report.fact("seed", seed);
    report.fact("cores", threads);
    report.fact("device", device.name());
    checks::run(&mut report, &device, input)?;
    if report.all_passed() {
        times::cpu(&mut report, input, threads, repeats);
        match device.is_gpu() {
            true => times::cuda(&mut report, &device, input, repeats)?,
            false => report.remark("cuda", &device.why_not_timed()),
        }
    }
    Ok(report.finish())
}

/// The exercise's input: integral greyscale values, uniform in 0…254, and normally distributed
/// weights with mean 0.5 and standard deviation 0.1.
fn random_input(number: usize, seed: u64) -> Result<(Vec<f32>, Vec<f32>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let values = (0..number).map(|_| rng.random_range(0.0..255.0_f32).floor()).collect();
    let weights = Normal::new(0.5, 0.1)?.sample_iter(rng).take(number).collect();
    Ok((values, weights))
}

/// Bytes of the input, the results of three steps, and at most three more vectors of the same size:
/// the GPU's page-locked memory and its results, or the vector that is freed after the timed call.
fn bytes_needed(number: usize) -> u64 {
    8 * (number * size_of::<f32>()) as u64
}
