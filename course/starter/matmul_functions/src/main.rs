//! Given: checks the three versions, then times those on the processor. `cargo run -p matmul_functions -- -c 2`

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::Parser;
use command_line::{counted, parse_cores, with_worker_threads};
use gpu::Device;
use matmul_functions::{matmul_transpose_gpu, matmul_transpose_rayon, matmul_transpose_trivial, verify};
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::call;
use timing::{Report, measure};

/// X·Xᵀ for a random X of 784 × 128
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
    let x = Array2::from_shape_simple_fn((784, 128), || rng.random_range(-1.0..1.0));
    let device = Device::simulator();
    let mut report = Report::new("matmul_functions", false);
    let of = |function: fn(&ndarray::ArrayRef2<f32>) -> Array2<f32>| call(|| Ok::<_, Infallible>(function(&x)));
    let check = |c: Result<Array2<f32>, String>| c.and_then(|c| verify(&c, &x));
    report.check("matmul_transpose_trivial", check(of(|x| matmul_transpose_trivial(x))));
    report.check("matmul_transpose_rayon", check(of(|x| matmul_transpose_rayon(x))));
    report.check_on("matmul_transpose_gpu", " (simulator)", check(call(|| matmul_transpose_gpu(&device, &x))));
    if report.all_passed() {
        let repeats = NonZeroUsize::MIN.saturating_add(4);
        report.time("CPU", "", measure(repeats, || matmul_transpose_trivial(&x)));
        report.time(
            "Rayon",
            &format!(", {}", counted(threads, "thread")),
            measure(repeats, || matmul_transpose_rayon(&x)),
        );
        report.speedup("Rayon", "CPU");
    }
    Ok(report.finish())
}
