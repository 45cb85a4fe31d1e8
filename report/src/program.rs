//! The program: arguments, progress on stderr, and output files.

mod progress;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use command_line::{CHECK_FAILED, one_of};
use gpu::{Device, DeviceChoice};
use neural_net::data::{Dataset, find_mnist};
use neural_net::files::{create_directory, require_writable, write_atomically};
use report::archive::HandIn;
use report::distributed::job;
use report::document::{Document, document};
use report::measure::{MeasureError, Plan};
use report::notes::Block;
use report::peers::{PeerOptions, Scripts};
use report::{Figures, archive, distributed, measure, notes, recorded, statements, typeset};
use serde::de::DeserializeOwned;

use self::progress::Progress;

/// Measures the homework on this machine and writes the report about it, hw1.pdf
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Assignment to report on: 1 measures the homework; 3 trains on ranks that exchange messages, and writes hw3.pdf
    #[arg(long, value_name = "N", default_value = "1", value_parser = ["1", "3"])]
    assignment: String,
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
    /// Also write a ZIP file next to the report: the report and the crates that are handed in, ready to build
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
    /// Python 3 with NumPy and Numba, whose times are compared [default: $PYTHON, else python3, on Windows python]
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
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(done) = job::run_if_rank() {
        return match done {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => bail!("{error}"),
        };
    }
    let is_third = arguments.assignment == "3";
    if is_third && (arguments.python.is_some() || arguments.device != DeviceChoice::default()) {
        bail!("--python and --device are for assignment 1: omit them");
    }
    let name = if is_third { "report/hw3.pdf" } else { "report/hw1.pdf" };
    let out = arguments.out.clone().unwrap_or_else(|| archive::workspace().join(name));
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
    let given = arguments.figures.as_deref().map(read).transpose()?;
    if let Some(text) = &given {
        // Before anything is written.
        match is_third {
            true => parsed::<distributed::Figures>(arguments, text).map(drop)?,
            false => parsed::<Figures>(arguments, text).map(drop)?,
        }
    }
    let cannot_write = |file: &Path| format!("cannot write {}: choose another path with --out", file.display());
    if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_directory(folder).with_context(|| cannot_write(&out))?;
    }
    for file in &files {
        require_writable(file).with_context(|| cannot_write(file))?;
    }
    if is_third {
        return report_on_ranks(arguments, &out, &notes);
    }
    let figures: Figures = match given {
        Some(text) => parsed(arguments, &text)?,
        None => match measured(arguments)? {
            Ok(figures) => figures,
            Err(error) => {
                command_line::note!("error: {error}");
                return Ok(ExitCode::from(CHECK_FAILED));
            }
        },
    };
    let document = document(&figures, arguments.author.as_deref(), &notes)?;
    write(arguments, &out, &document, HandIn::HOMEWORK1)?;
    if let Some(noise) = statements::noise(&figures) {
        command_line::note!("[*] {noise} Measure again while nothing else runs.");
    }
    if arguments.json {
        command_line::say!("{}", serde_json::to_string(&figures)?);
    }
    Ok(ExitCode::SUCCESS)
}

/// The report on assignment 3.
fn report_on_ranks(arguments: &Arguments, out: &Path, notes: &[Block]) -> Result<ExitCode> {
    let figures = match &arguments.figures {
        Some(file) => parsed(arguments, &read(file)?)?,
        None => {
            let dataset = found_dataset(arguments)?;
            let plan = distributed::Plan { quick: arguments.quick, seed: arguments.seed, data: arguments.data.clone() };
            let progress = Progress::new(&distributed::measure::STAGES);
            let measured = distributed::measure::run(&plan, &dataset, &mut |stage, what| progress.stage(stage, what));
            progress.finish();
            match measured {
                Ok(figures) => figures,
                Err(error) => {
                    command_line::note!("error: {error}");
                    return Ok(ExitCode::from(CHECK_FAILED));
                }
            }
        }
    };
    let document = distributed::document(&figures, arguments.author.as_deref(), notes)?;
    write(arguments, out, &document, HandIn::ASSIGNMENT3)?;
    if arguments.json {
        command_line::say!("{}", serde_json::to_string(&figures)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read the figures in {}", file.display()))
}

/// The figures in the text of the file `--figures`.
fn parsed<F: DeserializeOwned>(arguments: &Arguments, text: &str) -> Result<F> {
    let name = arguments.figures.as_deref().unwrap_or(Path::new("")).display();
    let of = &arguments.assignment;
    serde_json::from_str(text).with_context(|| format!("{name} is not the output of --assignment {of} --json"))
}

/// The images: MNIST, or others with a note.
fn found_dataset(arguments: &Arguments) -> Result<Dataset> {
    let dataset = Dataset::find(arguments.data.as_deref())?;
    if !dataset.is_mnist && find_mnist(arguments.data.as_deref()).is_some() {
        command_line::note!(
            "[*] The images of {} are not MNIST's: the homework's target accuracy does not apply to them.",
            dataset.name
        );
    } else if !dataset.is_mnist {
        command_line::note!(
            "[*] MNIST was not found, so the network trains on built-in digits. `cargo run -p mnist_download` fetches it, \
             --data DIR names its folder."
        );
    }
    Ok(dataset)
}

/// Measures the figures. The outer error is invalid input, the inner one a failed measurement.
fn measured(arguments: &Arguments) -> Result<Result<Figures, MeasureError>> {
    let dataset = found_dataset(arguments)?;
    let device = Device::open(arguments.device, &kernels_gpu::PTX)?;
    let quick = arguments.quick;
    let [limit, budget] = Plan::peer_limits(quick);
    let plan = Plan {
        quick,
        seed: arguments.seed,
        peers: PeerOptions {
            python: (!arguments.no_python).then(|| arguments.python.clone().unwrap_or_else(command_line::python)),
            scripts: Scripts::of_workspace(),
            limit,
            budget,
            repeats: Plan::peer_repeats(quick),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        },
        recorded: recorded::folder(),
    };
    let progress = Progress::new(&measure::STAGES);
    let figures = measure::run(&plan, &device, &dataset, &mut |stage, what| progress.stage(stage, what));
    progress.finish();
    Ok(figures)
}

/// Writes the report and the other requested files, each atomically.
fn write(arguments: &Arguments, out: &Path, document: &Document, hand_in: HandIn) -> Result<()> {
    let pdf = typeset::pdf(document)?;
    let keep = |file: &Path, bytes: &[u8]| {
        write_atomically(file, bytes).with_context(|| format!("cannot write {}", file.display()))
    };
    keep(out, &pdf.bytes)?;
    command_line::note!("[*] {}: {} pages", out.display(), pdf.pages);
    if arguments.html {
        let file = out.with_extension("html");
        keep(&file, typeset::html(document)?.as_bytes())?;
        command_line::note!("[*] {}", file.display());
    }
    if arguments.zip {
        let file = out.with_extension("zip");
        keep(&file, &archive::archive(hand_in, &archive::workspace(), &pdf.bytes)?)?;
        command_line::note!(
            "[*] {}: {}, what they are built from, and the report",
            file.display(),
            hand_in.packages().collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}
