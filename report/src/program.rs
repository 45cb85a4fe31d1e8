//! The program: arguments, progress on stderr, and output files.

mod progress;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use gpu::{Device, DeviceChoice};
use neural_net::data::Dataset;
use neural_net::files::{create_directory, require_writable, write_atomically};
use report::document::{Document, document};
use report::measure::{MeasureError, Plan};
use report::peers::{PeerOptions, Scripts};
use report::{Figures, archive, measure, notes, recorded, statements, typeset};
use timing::program::{self, CHECK_FAILED, one_of};

use self::progress::Progress;

/// Measures the homework on this machine and writes the report about it, hw1.pdf
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Few repeats, two training runs, a smaller product to count: under 30 seconds instead of one to two minutes
    #[arg(long)]
    quick: bool,
    /// Output file; missing folders are created [default: report/hw1.pdf in the workspace]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Author's name, below the title
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Your own explanation, as a part of the report: a text file with paragraphs and # headings, at most 64 KiB
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// Also write hw1.zip next to the report: the report and the homework's three crates, ready to build
    #[arg(long)]
    zip: bool,
    /// Also write the report as one self-contained HTML page next to it
    #[arg(long)]
    html: bool,
    /// Print the figures as one JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Read the figures from the output of --json instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "seed", "device", "python", "no_python", "data"])]
    figures: Option<PathBuf>,
    /// Seed of the random input
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Device of the GPU versions; the simulator and the PTX interpreter check them, but are never timed
    #[arg(long, default_value_t, value_parser = one_of(&DeviceChoice::ALL, DeviceChoice::name, DeviceChoice::description))]
    device: DeviceChoice,
    /// Python 3 with NumPy and Numba, whose times are compared [default: $PYTHON, else python3]
    #[arg(long, value_name = "PATH")]
    python: Option<OsString>,
    /// Do not measure Python's libraries
    #[arg(long, conflicts_with = "python")]
    no_python: bool,
    /// Folder with MNIST's files [default: as neural-net finds them, else built-in digits]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

pub(crate) fn main() -> ExitCode {
    let arguments: Arguments = program::arguments();
    program::run(|| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let out = arguments.out.clone().unwrap_or_else(|| archive::workspace().join("report/hw1.pdf"));
    let mut files = vec![out.clone()];
    files.extend(arguments.html.then(|| out.with_extension("html")));
    files.extend(arguments.zip.then(|| out.with_extension("zip")));
    if out.extension().is_some_and(|extension| extension == "html" || extension == "zip") {
        bail!("{} must be a PDF file: give --out a name that ends in .pdf", out.display());
    }
    if arguments.author.as_deref().is_some_and(|author| author.contains(char::is_control)) {
        bail!("--author has a control character: give a name in plain text");
    }
    let notes = arguments.notes.as_deref().map(notes::read).transpose()?.unwrap_or_default();
    let given = arguments.figures.as_deref().map(read_figures).transpose()?;
    let cannot_write = |file: &Path| format!("cannot write {}: choose another path with --out", file.display());
    if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_directory(folder).with_context(|| cannot_write(&out))?;
    }
    for file in &files {
        require_writable(file).with_context(|| cannot_write(file))?;
    }
    let figures = match given {
        Some(figures) => figures,
        None => match measured(arguments)? {
            Ok(figures) => figures,
            Err(error) => {
                timing::note!("error: {error}");
                return Ok(ExitCode::from(CHECK_FAILED));
            }
        },
    };
    let document = document(&figures, arguments.author.as_deref(), &notes)?;
    write(arguments, &out, &document)?;
    if let Some(noise) = statements::noise(&figures) {
        timing::note!("[*] {noise} Measure again while nothing else runs.");
    }
    if arguments.json {
        timing::say!("{}", serde_json::to_string(&figures)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn read_figures(file: &Path) -> Result<Figures> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the figures in {name}"))?;
    serde_json::from_str(&text).with_context(|| format!("{name} is not the output of --json"))
}

/// Measures the figures. The outer error is invalid input, the inner one a failed measurement.
fn measured(arguments: &Arguments) -> Result<Result<Figures, MeasureError>> {
    let dataset = Dataset::find(arguments.data.as_deref())?;
    if !dataset.is_mnist {
        timing::note!(
            "[*] MNIST was not found, so the network trains on built-in digits. `cargo run -p neural-net -- --download` fetches it, \
             --data DIR names its folder."
        );
    }
    let device = Device::open(arguments.device, gpu::KERNELS)?;
    let named = || arguments.python.clone().or_else(|| std::env::var_os("PYTHON"));
    let quick = arguments.quick;
    let [limit, budget] = Plan::peer_limits(quick);
    let plan = Plan {
        quick,
        seed: arguments.seed,
        peers: PeerOptions {
            python: (!arguments.no_python).then(|| named().unwrap_or_else(|| "python3".into())),
            scripts: Scripts::of_workspace(),
            limit,
            budget,
            repeats: Plan::peer_repeats(quick),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        },
        recorded: recorded::folder(),
    };
    let progress = Progress::new();
    let figures = measure::run(&plan, &device, &dataset, &mut |stage, what| progress.stage(stage, what));
    progress.finish();
    Ok(figures)
}

/// Writes the report and the other requested files, each atomically.
fn write(arguments: &Arguments, out: &Path, document: &Document) -> Result<()> {
    let pdf = typeset::pdf(document)?;
    let keep = |file: &Path, bytes: &[u8]| {
        write_atomically(file, bytes).with_context(|| format!("cannot write {}", file.display()))
    };
    keep(out, &pdf.bytes)?;
    timing::note!("[*] {}: {} pages", out.display(), pdf.pages);
    if arguments.html {
        let file = out.with_extension("html");
        keep(&file, typeset::html(document)?.as_bytes())?;
        timing::note!("[*] {}", file.display());
    }
    if arguments.zip {
        let file = out.with_extension("zip");
        keep(&file, &archive::archive(&archive::workspace(), &pdf.bytes)?)?;
        timing::note!(
            "[*] {}: {}, what they are built from, and the report",
            file.display(),
            archive::CRATES.join(", ")
        );
    }
    Ok(())
}
