//! Times only the parallel maximum, at any size, for `cargo xtask peers --growth`. The program `max_functions` also
//! times the trivial version and checks the GPU version.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use command_line::{HomeworkOptions, counted, parse_size, require_memory, with_worker_threads};
use max_functions::{max_rayon, random_matrix, verify};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use timing::{Report, measure};

/// Times the parallel element-wise maximum of two matrices of integers 0…255
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
    /// Rows and columns of the matrices
    #[arg(long, num_args = 2, value_names = ["ROWS", "COLUMNS"], default_values = ["1000", "1000"], value_parser = parse_size)]
    size: Vec<NonZeroUsize>,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| {
        let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
        let bytes =
            rows.checked_mul(columns).and_then(|cells| u64::try_from(cells.checked_mul(4 * size_of::<i32>())?).ok());
        require_memory(&format!("the maximum of two {rows} × {columns} matrices"), bytes)?;
        with_worker_threads(arguments.homework.cores, |threads| check_and_time(&arguments, threads))?
    })
}

fn check_and_time(arguments: &Arguments, threads: usize) -> Result<ExitCode> {
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;
    let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (a, b) = (random_matrix(rows, columns, &mut rng), random_matrix(rows, columns, &mut rng));

    let mut report = Report::new("time_max", json);
    report.fact("size", vec![rows, columns]);
    report.fact("cores", threads);
    report.check("max_rayon", verify(&max_rayon(&a, &b)?, &a, &b));
    if report.all_passed() {
        report.time("Rayon", &format!(", {}", counted(threads, "thread")), measure(repeats, || max_rayon(&a, &b)));
    }
    Ok(report.finish())
}
