//! Times X·Xᵀ: three loops against the parallel version.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use matmul_functions::{Element, Reference, matmul_transpose_rayon, matmul_transpose_trivial};
use ndarray::Array2;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use timing::program::{self, HomeworkOptions, parse_size, require_memory, with_worker_threads};
use timing::{Report, measure};

/// X·Xᵀ for a matrix X of standard normal numbers: three loops against the parallel version
#[derive(Parser)]
#[command(version)]
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
    let arguments = Arguments::parse();
    program::run(|| match arguments.dtype {
        DataType::F32 => run::<f32>(&arguments, "f32"),
        DataType::F64 => run::<f64>(&arguments, "f64"),
    })
}

fn run<F: Element + Send>(arguments: &Arguments, dtype: &str) -> Result<ExitCode>
where
    StandardNormal: Distribution<F>,
{
    let cores = arguments.homework.cores;
    let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
    require_memory(&format!("X·Xᵀ for {rows} × {columns}"), bytes_needed(rows, columns))?;
    with_worker_threads(cores, |threads| measure_all::<F>(arguments, dtype, threads))
}

fn measure_all<F: Element>(arguments: &Arguments, dtype: &str, threads: usize) -> ExitCode
where
    StandardNormal: Distribution<F>,
{
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;
    let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let x = Array2::from_shape_simple_fn((rows, columns), || StandardNormal.sample(&mut rng));

    let mut report = Report::new("matmul_functions", json);
    report.fact("size", vec![rows, columns]);
    report.fact("dtype", dtype);
    report.fact("seed", seed);
    report.fact("cores", threads);

    let reference = Reference::of(&x);
    report.check("matmul_transpose_trivial", reference.verify(&matmul_transpose_trivial(&x)));
    report.check("matmul_transpose_rayon", reference.verify(&matmul_transpose_rayon(&x)));
    if report.all_passed() {
        report.time("Trivial", "", measure(repeats, || matmul_transpose_trivial(&x)));
        report.time("Rayon", &format!(", {threads} threads"), measure(repeats, || matmul_transpose_rayon(&x)));
        report.speedup("Rayon", "Trivial");
    }
    report.finish()
}

/// The matrices that live at once: X and its packed transpose, and four results (the reference, its tolerance and two
/// computed ones), counted as double precision. None if that overflows.
fn bytes_needed(rows: usize, columns: usize) -> Option<u64> {
    let elements = rows.checked_mul(columns)?.checked_mul(4)?.checked_add(rows.checked_mul(rows)?.checked_mul(4)?)?;
    u64::try_from(elements.checked_mul(size_of::<f64>())?).ok()
}
