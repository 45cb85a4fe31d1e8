//! Times only the parallel X·Xᵀ, at any size, for `cargo xtask peers --growth`. The program `matmul_functions` also
//! times the trivial version, which takes minutes for large matrices.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use command_line::{HomeworkOptions, counted, parse_size, require_memory, with_worker_threads};
use matmul_functions::{MatmulElement, Reference, matmul_transpose_rayon};
use ndarray::{Array2, s};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use timing::{Report, measure};

/// Number of evenly spaced rows of X to check: their products with each other are verified.
const CHECKED_ROWS: usize = 100;

/// Times the parallel X·Xᵀ for a matrix X of standard normal values
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
    /// Rows and columns of X
    #[arg(long, num_args = 2, value_names = ["ROWS", "COLUMNS"], default_values = ["784", "128"], value_parser = parse_size)]
    size: Vec<NonZeroUsize>,
    /// Type of the elements
    #[arg(long, value_enum, default_value_t = DataType::F32)]
    dtype: DataType,
}

#[derive(Clone, Copy, ValueEnum)]
enum DataType {
    F32,
    F64,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| {
        let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
        require_memory(&format!("X·Xᵀ for {rows} × {columns}"), bytes_needed(rows, columns))?;
        with_worker_threads(arguments.homework.cores, |threads| match arguments.dtype {
            DataType::F32 => check_and_time::<f32>(&arguments, threads),
            DataType::F64 => check_and_time::<f64>(&arguments, threads),
        })?
    })
}

fn check_and_time<F: MatmulElement>(arguments: &Arguments, threads: usize) -> Result<ExitCode>
where
    StandardNormal: Distribution<F>,
{
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;
    let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let x = Array2::from_shape_simple_fn((rows, columns), || StandardNormal.sample(&mut rng));

    let mut report = Report::new("time_matmul", json);
    report.fact("size", vec![rows, columns]);
    report.fact("cores", threads);
    let step = rows.div_ceil(CHECKED_ROWS);
    let result = matmul_transpose_rayon(&x);
    let checked = result.slice(s![..;step, ..;step]).to_owned();
    report.check("matmul_transpose_rayon", Reference::of(&x.slice(s![..;step, ..])).verify(&checked));
    drop(result);
    if report.all_passed() {
        report.time(
            "Rayon",
            &format!(", {}", counted(threads, "thread")),
            measure(repeats, || matmul_transpose_rayon(&x)),
        );
    }
    Ok(report.finish())
}

/// Bytes of X and at most two results, at 8 bytes per element. `None` on overflow.
fn bytes_needed(rows: usize, columns: usize) -> Option<u64> {
    let cells = rows.checked_mul(columns)?.checked_add(rows.checked_mul(rows)?.checked_mul(2)?)?;
    u64::try_from(cells.checked_mul(size_of::<f64>())?).ok()
}
