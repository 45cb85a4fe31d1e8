//! Times X·Xᵀ: three loops, the parallel version and the GPU version.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use command_line::{HomeworkOptions, counted, one_of, parse_size, require_memory, with_worker_threads};
use gpu::{Device, DeviceChoice};
use matmul_functions::{
    MatmulElement, MatmulGpu, Reference, label, matmul_transpose_gpu, matmul_transpose_rayon, matmul_transpose_trivial,
};
use ndarray::{Array2, ArrayRef2, s};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use timing::{Measurement, Report, measure};

/// X·Xᵀ for a matrix X of standard normal values: three loops, in parallel, and on the GPU
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
    /// Device of the GPU version; the simulator and the PTX interpreter check it, but are never timed
    #[arg(long, default_value_t, value_parser = one_of(&DeviceChoice::ALL, DeviceChoice::name, DeviceChoice::description))]
    device: DeviceChoice,
    /// Check every rung of the GPU kernel, from the naive one up, and time it if there is a GPU
    #[arg(long)]
    ladder: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum DataType {
    F32,
    F64,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| match arguments.dtype {
        DataType::F32 => run::<f32>(&arguments, "f32"),
        DataType::F64 => run::<f64>(&arguments, "f64"),
    })
}

fn run<F: MatmulElement + Send>(arguments: &Arguments, dtype: &str) -> Result<ExitCode>
where
    StandardNormal: Distribution<F>,
{
    let cores = arguments.homework.cores;
    let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
    require_memory(&format!("X·Xᵀ for {rows} × {columns}"), bytes_needed(rows, columns))?;
    with_worker_threads(cores, |threads| measure_all::<F>(arguments, dtype, threads))?
}

fn measure_all<F: MatmulElement>(arguments: &Arguments, dtype: &str, threads: usize) -> Result<ExitCode>
where
    StandardNormal: Distribution<F>,
{
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;
    let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
    let device = Device::open(arguments.device, &kernels_gpu::ptx::PRODUCT)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let x = Array2::from_shape_simple_fn((rows, columns), || StandardNormal.sample(&mut rng));

    let mut report = Report::new("matmul_functions", json);
    report.fact("size", vec![rows, columns]);
    report.fact("dtype", dtype);
    report.fact("seed", seed);
    report.fact("cores", threads);
    report.fact("device", device.name());

    let reference = Reference::of(&x);
    report.check("matmul_transpose_trivial", reference.verify(&matmul_transpose_trivial(&x)));
    report.check("matmul_transpose_rayon", reference.verify(&matmul_transpose_rayon(&x)));
    check_gpu(&mut report, &device, &x, arguments.ladder)?;
    if report.all_passed() {
        report.time("Trivial", "", measure(repeats, || matmul_transpose_trivial(&x)));
        report.time(
            "Rayon",
            &format!(", {}", counted(threads, "thread")),
            measure(repeats, || matmul_transpose_rayon(&x)),
        );
        report.speedup("Rayon", "Trivial");
        match device.is_gpu() {
            true => time_cuda(&mut report, &device, &x, repeats, arguments.ladder)?,
            false => report.remark("cuda", &device.why_not_timed()),
        }
    }
    Ok(report.finish())
}

/// Maximum rows and columns to check on the simulator and the interpreter, to keep checks within
/// seconds: the homework's.
const MAX_CHECKED: (usize, usize) = (784, 128);

/// Checks the default kernel, or every rung with `ladder`. Without a GPU, checks only the upper
/// left part of a large matrix.
fn check_gpu<F: MatmulElement>(report: &mut Report, device: &Device, x: &ArrayRef2<F>, ladder: bool) -> Result<()> {
    let (rows, columns) = match device.is_gpu() {
        true => x.dim(),
        false => (x.nrows().min(MAX_CHECKED.0), x.ncols().min(MAX_CHECKED.1)),
    };
    let part = x.slice(s![..rows, ..columns]);
    let place = match part.dim() == x.dim() {
        true => device.remark(),
        false => format!(" ({}, the first {rows} × {columns})", device.name()),
    };
    let reference = Reference::of(&part);
    if !ladder {
        let outcome = reference.verify(&matmul_transpose_gpu(device, &part)?);
        report.check_on("matmul_transpose_gpu", &place, outcome);
        return Ok(());
    }
    let mut work = MatmulGpu::new(device, &part)?;
    for rung in work.rungs() {
        work.launch(rung)?;
        let name = format!("matmul_transpose_gpu, rung {}", rung.name());
        report.check_on(&name, &place, reference.verify(&work.result()?));
    }
    Ok(())
}

/// Times the kernel alone, by GPU events, and the whole function including copies. With `ladder`,
/// times every rung's kernel.
fn time_cuda<F: MatmulElement>(
    report: &mut Report,
    device: &Device,
    x: &ArrayRef2<F>,
    repeats: NonZeroUsize,
    ladder: bool,
) -> Result<()> {
    let mut work = MatmulGpu::new(device, x)?;
    let rungs = if ladder { work.rungs() } else { vec![work.fastest()] };
    for rung in rungs {
        let kernel = device.time_repeats(repeats, |_| work.launch(rung))?.context("the GPU measured no time")?;
        let name = if ladder { rung.label() } else { label::KERNEL.to_owned() };
        report.time(&name, &format!(", {}", device.name()), Measurement::of(kernel).context("no repeats")?);
        report.speedup(&name, "Trivial");
    }
    report.gpu_facts(device.l2_bytes(), device.clock_rate()?);
    report.time(label::WITH_COPIES, ", with copies", measure(repeats, || matmul_transpose_gpu(device, x)));
    report.speedup(label::WITH_COPIES, "Trivial");
    report.speedup(label::WITH_COPIES, "Rayon");
    Ok(())
}

/// Bytes, as doubles, of the matrices that exist at the same time: X, its packed transpose, and
/// four results (the reference, its tolerance and two computed ones). `None` on overflow.
fn bytes_needed(rows: usize, columns: usize) -> Option<u64> {
    let elements = rows.checked_mul(columns)?.checked_mul(4)?.checked_add(rows.checked_mul(rows)?.checked_mul(4)?)?;
    u64::try_from(elements.checked_mul(size_of::<f64>())?).ok()
}
