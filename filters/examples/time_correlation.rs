//! Times only the parallel correlation, for `cargo xtask peers`. The program `filters` also times the trivial version and
//! checks the GPU version.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use command_line::{HomeworkOptions, counted, one_of, parse_size, with_worker_threads};
use filters::{EDGES, Filter, Reference, correlation_rayon};
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use timing::{Report, measure};

/// Times the parallel correlation of an image of random values from 0 to 1
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
    /// Rows and columns of the image
    #[arg(long, num_args = 2, value_names = ["ROWS", "COLUMNS"], default_values = ["1000", "1000"], value_parser = parse_size)]
    size: Vec<NonZeroUsize>,
    /// Rows and columns of a kernel of random coefficients
    #[arg(long, num_args = 2, value_names = ["ROWS", "COLUMNS"], default_values = ["3", "3"], value_parser = parse_size)]
    kernel: Vec<NonZeroUsize>,
    /// An edge filter, instead of random coefficients
    #[arg(long, value_parser = one_of(&EDGES, |filter: Filter| filter.name, |_| "One of the assignment's filters"))]
    filter: Option<Filter>,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| with_worker_threads(arguments.homework.cores, |threads| check_and_time(&arguments, threads))?)
}

fn check_and_time(arguments: &Arguments, threads: usize) -> Result<ExitCode> {
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut random = |size: &[NonZeroUsize], from: f32| {
        Array2::from_shape_simple_fn((size[0].get(), size[1].get()), || rng.random_range(from..1.0))
    };
    let (image, coefficients) = (random(&arguments.size, 0.0), random(&arguments.kernel, -1.0));
    let kernel = arguments.filter.map_or(coefficients, |filter| filter.kernel().to_owned());

    let mut report = Report::new("time_correlation", json);
    report.fact("size", vec![image.nrows(), image.ncols()]);
    report.fact("kernel", vec![kernel.nrows(), kernel.ncols()]);
    report.fact("cores", threads);
    report.check("correlation_rayon", Reference::of(&kernel, &image).verify(&correlation_rayon(&kernel, &image)));
    if report.all_passed() {
        let measurement = measure(repeats, || correlation_rayon(&kernel, &image));
        report.time("Rayon", &format!(", {}", counted(threads, "thread")), measurement);
    }
    Ok(report.finish())
}
