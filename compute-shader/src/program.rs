//! The program: its arguments, and the sequence of checks, measurements and output.

mod break_even;
mod checks;
mod input;
mod plot;
mod row;
mod table;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use command_line::{HomeworkOptions, counted, note, parse_count, with_worker_threads};
use compute_shader::{Gpu, ShaderNetwork};
use neural_net::Predictor;
use serde_json::json;
use timing::{Report, format_seconds, measure};

use self::input::Input;
use self::row::Row;

/// The batch sizes of the table by default, ascending.
const BATCHES: [usize; 5] = [1, 10, 100, 1000, 10_000];

/// Time a network's forward pass as a compute shader against the CPU, and find the break-even batch size
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    homework: HomeworkOptions,
    /// Network file, as `cargo run -p neural-net -- --save FILE` writes it [default: train the notebook's network]
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Directory of the MNIST files [default: MNIST_DIR, data/mnist or the cache directory; else built-in digits]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Part of the adapter's name, driver or back end, such as nvidia, vulkan or software [default: the best adapter]
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Batch sizes to check and time; they repeat the images of the test set; a batch beyond the adapter's limits is
    /// split into several dispatches [default: 1,10,100,1000,10000]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = parse_count)]
    batch: Vec<NonZeroUsize>,
    /// Also evaluate the test set with the data kept on the device and only the number of correct images read back
    #[arg(long)]
    keep_on_device: bool,
    /// Plot images per second over the batch size
    #[arg(long, value_name = "FILE.svg", value_parser = plot::parse_path)]
    plot: Option<PathBuf>,
}

impl Arguments {
    /// The batch sizes, ascending and each once.
    fn batches(&self) -> Vec<usize> {
        match self.batch.is_empty() {
            true => BATCHES.to_vec(),
            false => self.batch.iter().map(|size| size.get()).collect::<BTreeSet<_>>().into_iter().collect(),
        }
    }
}

pub(crate) fn main() -> ExitCode {
    silence_libraries();
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| with_worker_threads(arguments.homework.cores, |threads| run(&arguments, threads))?)
}

/// Suppresses Mesa's own error lines, since the program's error already reports a missing adapter.
/// Mesa's device-select layer, which lets a desktop choose the GPU, is disabled if
/// `XDG_RUNTIME_DIR` is unset: it would print only that. Variables that the user has set are kept.
#[allow(unsafe_code)]
fn silence_libraries() {
    let is_absent = |name: &str| std::env::var_os(name).is_none();
    let settings = [("NODEVICE_SELECT", "1", is_absent("XDG_RUNTIME_DIR")), ("EGL_LOG_LEVEL", "fatal", true)];
    for (name, value, _) in settings.into_iter().filter(|(name, _, matters)| *matters && is_absent(name)) {
        // SAFETY: `main` calls this first, before any thread is spawned, so no other thread reads the environment.
        unsafe { std::env::set_var(name, value) };
    }
}

fn run(arguments: &Arguments, threads: usize) -> Result<ExitCode> {
    if let Some(path) = &arguments.plot {
        neural_net::files::require_writable(path)
            .map_err(|error| anyhow::anyhow!("{}: cannot be written: {error}", path.display()))?;
    }
    let gpu = Gpu::open(arguments.adapter.as_deref())?;
    let input = Input::new(arguments)?;
    let HomeworkOptions { repeats, seed, json, .. } = arguments.homework;

    let mut report = Report::new("compute-shader", json);
    report.fact("seed", seed);
    report.fact("cores", threads);
    report.fact("software_adapter", gpu.is_software());
    report.remark("adapter", &format!("Adapter: {}", gpu.description()));
    report.remark("network", &format!("Network: {}", input.network_line));
    report.remark("data", &format!("Data: {}", input.data_line));

    let mut shader = ShaderNetwork::new(&gpu, &input.network)?;
    let mut predictor = Predictor::new(&input.network);
    let batches = arguments.batches();
    if let Some(&batch) = batches.last()
        && batch > shader.largest_batch()
    {
        let (dispatches, largest) = (batch.div_ceil(shader.largest_batch()), shader.largest_batch());
        report.remark(
            "split",
            &format!(
                "Split: {batch} images are {dispatches} dispatches, since the adapter takes at most {largest} at once"
            ),
        );
    }
    note!("checking the shaders against the CPU, {} …", counted(batches.len(), "batch size"));
    checks::run(&mut report, &mut shader, &predictor, &input, &batches)?;
    if !report.all_passed() {
        return Ok(report.finish());
    }
    let mut rows = Vec::new();
    for (index, &batch) in batches.iter().enumerate() {
        note!("timing batches of {}, {} of {} …", counted(batch, "image"), index + 1, batches.len());
        rows.push(Row::measure(&mut shader, &mut predictor, input.batch(batch), repeats)?);
    }
    report.fact("batches", rows.iter().map(Row::to_json).collect::<Vec<_>>());
    if !json {
        table::print(&rows, threads, gpu.has_timestamps());
    }
    let break_even = break_even::find(&rows, |batch| {
        note!("searching the break-even batch size: {} …", counted(batch, "image"));
        Ok(Row::measure(&mut shader, &mut predictor, input.batch(batch), repeats)?.ratio())
    })?;
    report.fact("break_even_batch", break_even.batch());
    report.remark("break_even", &break_even.sentence(&rows, gpu.is_software()));
    if arguments.keep_on_device {
        keep_on_device(&mut report, &mut shader, &input, repeats)?;
    }
    if let Some(path) = &arguments.plot {
        plot::write(path, &rows, &gpu)?;
        report.remark("plot", &format!("Plot: {}", path.display()));
    }
    Ok(report.finish())
}

/// Times an evaluation of a resident data set against one that copies the data set each time.
fn keep_on_device(report: &mut Report, shader: &mut ShaderNetwork, input: &Input, repeats: NonZeroUsize) -> Result<()> {
    let Some(labels) = &input.labels else {
        report.remark("kept_on_device", "Kept on the device: not measured, since random inputs have no labels");
        return Ok(());
    };
    let resident = shader.place(input.inputs.view(), labels)?;
    let correct = shader.count_correct(&resident)?;
    let all = input.inputs.view();
    let by_outputs = input::count_correct(&shader.predict(all)?, labels);
    if correct != by_outputs {
        anyhow::bail!(
            "the adapter counts {correct} correct images, but its own outputs give {by_outputs}: its driver is faulty"
        );
    }
    let kept = measure(repeats, || shader.count_correct(&resident));
    let moved = measure(repeats, || shader.predict(all).map(|outputs| input::count_correct(&outputs, labels)));
    let accuracy = correct as f64 / labels.len() as f64;
    let line = format!(
        "Kept on the device: {} images, only the count read back: accuracy {:.2} %, {} (median {}); with all inputs \
         and outputs copied: {} (median {}), {:.2} times as long",
        labels.len(),
        100.0 * accuracy,
        format_seconds(kept.min),
        format_seconds(kept.median),
        format_seconds(moved.min),
        format_seconds(moved.median),
        moved.min / kept.min,
    );
    report.remark("kept_on_device", &line);
    report.fact("kept_on_device_figures", json!({ "accuracy": accuracy, "seconds": kept, "seconds_moved": moved }));
    Ok(())
}
