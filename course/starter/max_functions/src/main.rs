//! Given: checks the three versions, then times those on the processor. `cargo run -p max_functions -- -c 2`

use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::Parser;
use command_line::{counted, parse_cores, with_worker_threads};
use gpu::Device;
use max_functions::{max_cpu, max_gpu, max_rayon, verify};
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::call;
use timing::{Report, measure};

/// The element-wise maximum of two 1000 × 1000 matrices of integers 0…255
#[derive(Parser)]
struct Arguments {
    /// Worker threads [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = parse_cores)]
    cores: Option<NonZeroUsize>,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| with_worker_threads(arguments.cores, run)?)
}

fn run(threads: usize) -> anyhow::Result<ExitCode> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut matrix = || Array2::from_shape_simple_fn((1000, 1000), || rng.random_range(0..256));
    let (a, b): (Array2<i32>, Array2<i32>) = (matrix(), matrix());
    let device = Device::simulator();
    let mut report = Report::new("max_functions", false);
    let check = |c: Result<Array2<i32>, String>| c.and_then(|c| verify(&c, &a, &b));
    report.check("max_cpu", check(call(|| max_cpu(&a, &b))));
    report.check("max_rayon", check(call(|| max_rayon(&a, &b))));
    report.check_on("max_gpu", " (simulator)", check(call(|| max_gpu(&device, &a, &b))));
    if report.all_passed() {
        let repeats = NonZeroUsize::MIN.saturating_add(9);
        report.time("CPU", "", measure(repeats, || max_cpu(&a, &b)));
        report.time("Rayon", &format!(", {}", counted(threads, "thread")), measure(repeats, || max_rayon(&a, &b)));
        report.speedup("Rayon", "CPU");
    }
    Ok(report.finish())
}
