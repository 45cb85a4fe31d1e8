//! Times the element-wise maximum of two matrices: two loops, the parallel version and the GPU version.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use command_line::{HomeworkOptions, counted, one_of, parse_size, require_memory, with_worker_threads};
use gpu::{Device, DeviceChoice};
use max_functions::{MaxGpu, RULE, label, max_cpu, max_gpu, max_rayon, random_matrix, verify};
use ndarray::Array2;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use timing::{Measurement, Report, measure};

/// The element-wise maximum of two matrices of integers 0…255: two loops, in parallel, and on the GPU
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
    /// Rows and columns of the matrices
    #[arg(long, num_args = 2, value_names = ["ROWS", "COLUMNS"], default_values = ["1000", "1000"], value_parser = parse_size)]
    size: Vec<NonZeroUsize>,
    /// Device of the GPU version; the simulator and the PTX interpreter check it, but are never timed
    #[arg(long, default_value_t, value_parser = one_of(&DeviceChoice::ALL, DeviceChoice::name, DeviceChoice::description))]
    device: DeviceChoice,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cores = arguments.homework.cores;
    let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
    require_memory(&format!("the maximum of two {rows} × {columns} matrices"), bytes_needed(rows, columns))?;
    with_worker_threads(cores, |threads| measure_all(arguments, threads))?
}

fn measure_all(arguments: &Arguments, threads: usize) -> Result<ExitCode> {
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;
    let (rows, columns) = (arguments.size[0].get(), arguments.size[1].get());
    let device = Device::open(arguments.device, &kernels_gpu::ptx::MAXIMUM)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (a, b) = (random_matrix(rows, columns, &mut rng), random_matrix(rows, columns, &mut rng));

    let mut report = Report::new("max_functions", json);
    report.fact("size", vec![rows, columns]);
    report.fact("seed", seed);
    report.fact("cores", threads);
    report.fact("device", device.name());

    report.check("max_cpu", verify(&max_cpu(&a, &b)?, &a, &b));
    report.check("max_rayon", verify(&max_rayon(&a, &b)?, &a, &b));
    report.check_on("max_gpu", &device.remark(), verify(&max_gpu(&device, &a, &b)?, &a, &b));
    if device.is_gpu() {
        // The homework has no such version, so it is checked where it is timed.
        let mut work = MaxGpu::new(&device, &a, &b)?;
        work.launch_quads()?;
        report.check("max_gpu, four elements a thread", verify(&work.result()?, &a, &b));
    }
    if report.all_passed() {
        report.time("CPU", "", measure(repeats, || max_cpu(&a, &b)));
        report.time("Rayon", &format!(", {}", counted(threads, "thread")), measure(repeats, || max_rayon(&a, &b)));
        report.speedup("Rayon", "CPU");
        match device.is_gpu() {
            true => time_cuda(&mut report, &device, (&a, &b), repeats)?,
            false => report.remark("cuda", &device.why_not_timed()),
        }
    }
    Ok(report.finish())
}

/// Times each kernel alone, by GPU events, with matrices in memory and in the L2 cache. Also times
/// the whole function, including copies.
fn time_cuda(
    report: &mut Report,
    device: &Device,
    (a, b): (&Array2<i32>, &Array2<i32>),
    repeats: NonZeroUsize,
) -> Result<()> {
    let mut sets = MaxGpu::beyond_cache(device, a, b)?;
    let count = sets.len();
    for (name, used, has_quads) in [
        (label::KERNEL, count, false),
        (label::KERNEL_IN_L2, 1, false),
        (label::QUADS, count, true),
        (label::QUADS_IN_L2, 1, true),
    ] {
        let seconds = device.time_repeats(repeats, |call| match has_quads {
            true => sets[call % used].launch_quads(),
            false => sets[call % used].launch(),
        })?;
        let measurement = seconds.and_then(Measurement::of).context("the GPU measured no time")?;
        report.time(name, &format!(", {}", device.name()), measurement);
    }
    report.gpu_facts(device.l2_bytes(), device.clock_rate()?);
    drop(sets);
    report.time(label::WITH_COPIES, ", with copies", measure(repeats, || max_gpu(device, a, b)));
    for name in [label::KERNEL, label::WITH_COPIES] {
        report.speedup(name, "CPU");
        report.speedup(name, "Rayon");
    }
    for name in [label::KERNEL, label::WITH_COPIES] {
        report.judge(RULE, name, "CPU");
    }
    Ok(())
}

/// Bytes of the two matrices and the two results, which exist at the same time. `None` on overflow.
fn bytes_needed(rows: usize, columns: usize) -> Option<u64> {
    u64::try_from(rows.checked_mul(columns)?.checked_mul(4 * size_of::<i32>())?).ok()
}
