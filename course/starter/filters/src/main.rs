//! Given: checks the versions, then times those on the processor. `cargo run -p filters -- -c 2`

use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::Parser;
use command_line::{counted, parse_cores, with_worker_threads};
use filters::{EDGES, correlation_gpu, correlation_rayon, correlation_trivial, sobel_operator, verify, verify_edges};
use gpu::Device;
use ndarray::{Array2, s};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::call;
use timing::{Report, measure};

/// The correlation of a 1000 × 1000 image with kernels of 3 × 3, 5 × 5 and 7 × 7
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
    let mut matrix = |rows, columns| Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0_f32..1.0));
    let image = matrix(1000, 1000);
    // A simulated thread takes its time.
    let part = image.slice(s![..100, ..100]).to_owned();
    let device = Device::simulator();
    let mut report = Report::new("filters", false);
    let kernels = [3, 5, 7].map(|size| (format!("{size}×{size}"), matrix(size, size)));
    for (size, kernel) in &kernels {
        let on_cpu = |function: fn(&Array2<f32>, &Array2<f32>) -> Array2<f32>| {
            call(|| Ok::<_, String>(function(kernel, &image))).and_then(|result| verify(&result, kernel, &image))
        };
        report
            .check(&format!("correlation_trivial {size}"), on_cpu(|kernel, image| correlation_trivial(kernel, image)));
        report.check(&format!("correlation_rayon {size}"), on_cpu(|kernel, image| correlation_rayon(kernel, image)));
        let on_gpu = call(|| correlation_gpu(&device, kernel, &part)).and_then(|result| verify(&result, kernel, &part));
        report.check_on(&format!("correlation_gpu {size}"), " (simulator, the first 100 × 100)", on_gpu);
    }
    for (name, filter) in EDGES {
        let edges = call(|| Ok::<_, String>(sobel_operator(&filter(), &image)));
        let checked = edges.and_then(|edges| verify_edges(&edges, &filter(), &image));
        report.check(&format!("sobel_operator {name}"), checked);
    }
    if report.all_passed() {
        let (repeats, with_threads) =
            (NonZeroUsize::MIN.saturating_add(9), format!(", {}", counted(threads, "thread")));
        for (size, kernel) in &kernels {
            let [cpu, rayon] = ["CPU", "Rayon"].map(|version| format!("{version} {size}"));
            report.time(&cpu, "", measure(repeats, || correlation_trivial(kernel, &image)));
            report.time(&rayon, &with_threads, measure(repeats, || correlation_rayon(kernel, &image)));
            report.speedup(&rayon, &cpu);
        }
    }
    Ok(report.finish())
}
