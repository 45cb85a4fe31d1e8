//! The program: arguments, progress on stderr, and output files.

mod progress;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use command_line::{CHECK_FAILED, one_of};
use gpu::{Device, DeviceChoice};
use neural_net::data::{Dataset, find_mnist, idx};
use neural_net::files::{create_directory, require_distinct, require_writable, write_atomically};
use report::archive::HandIn;
use report::distributed::job;
use report::document::{Document, DocumentError, document};
use report::measure::Plan;
use report::notes::Block;
use report::peers::{PeerOptions, Scripts};
use report::{Figures, archive, assignment2, distributed, measure, notes, recorded, statements, typeset};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::progress::Progress;

/// Measures the homework on this machine and writes the report about it, hw1.pdf
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Assignment to report on: 1 measures the homework; 2 trains on distorted images and filters pictures, and writes
    /// hw2.pdf; 3 trains on ranks that exchange messages, and writes hw3.pdf
    #[arg(long, value_name = "N", default_value = "1", value_parser = ["1", "2", "3"])]
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
    match &arguments.assignment[..] {
        "2" => report::<assignment2::Figures>(arguments),
        "3" => report::<distributed::Figures>(arguments),
        _ => report::<Figures>(arguments),
    }
}

/// The figures of an assignment's report.
trait Report: Serialize + DeserializeOwned {
    /// What is handed in with it.
    const HAND_IN: HandIn;

    /// Measures the figures. The outer error is invalid input, the inner one a failed measurement.
    fn measure(arguments: &Arguments) -> Result<Result<Self, String>>;

    fn document(&self, author: Option<&str>, notes: &[Block]) -> Result<Document, DocumentError>;

    /// A reason to measure again.
    fn noise(&self) -> Option<String> {
        None
    }
}

/// Measures or reads the figures, and writes the report and the other requested files.
fn report<R: Report>(arguments: &Arguments) -> Result<ExitCode> {
    let out = arguments.out.clone().unwrap_or_else(|| archive::workspace().join("report").join(R::HAND_IN.report));
    let mut files = vec![("--out", out.clone())];
    files.extend(arguments.html.then(|| ("--html", out.with_extension("html"))));
    files.extend(arguments.zip.then(|| ("--zip", out.with_extension("zip"))));
    if out.extension().is_some_and(|extension| extension == "html" || extension == "zip") {
        bail!("{} must be a PDF file: give --out a name that ends in .pdf", out.display());
    }
    if arguments.author.as_deref().is_some_and(|author| author.contains(char::is_control)) {
        bail!("--author has a control character: give a name in plain text");
    }
    let mut inputs: Vec<PathBuf> = [&arguments.notes, &arguments.figures].into_iter().flatten().cloned().collect();
    if let Some(images) = find_mnist(arguments.data.as_deref()) {
        inputs.extend(idx::files_in(&images));
    }
    require_distinct(files.iter().map(|(flag, file)| (*flag, file.as_path())), &inputs)?;
    let notes = arguments.notes.as_deref().map(notes::read).transpose()?.unwrap_or_default();
    // Before anything is written.
    let given: Option<R> = arguments.figures.as_deref().map(|file| read(arguments, file)).transpose()?;
    let cannot_write = |file: &Path| format!("cannot write {}: choose another path with --out", file.display());
    if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_directory(folder).with_context(|| cannot_write(&out))?;
    }
    for (_, file) in &files {
        require_writable(file).with_context(|| cannot_write(file))?;
    }
    let figures = match given {
        Some(figures) => figures,
        None => match R::measure(arguments)? {
            Ok(figures) => figures,
            Err(error) => {
                command_line::note!("error: {error}");
                return Ok(ExitCode::from(CHECK_FAILED));
            }
        },
    };
    let document = figures.document(arguments.author.as_deref(), &notes)?;
    write(arguments, &out, &document, R::HAND_IN)?;
    if let Some(noise) = figures.noise() {
        command_line::note!("[*] {noise} Measure again while nothing else runs.");
    }
    if arguments.json {
        command_line::say!("{}", serde_json::to_string(&figures)?);
    }
    Ok(ExitCode::SUCCESS)
}

/// The figures in the file `--figures`.
fn read<R: Report>(arguments: &Arguments, file: &Path) -> Result<R> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the figures in {name}"))?;
    let of = &arguments.assignment;
    serde_json::from_str(&text).with_context(|| format!("{name} is not the output of --assignment {of} --json"))
}

impl Report for Figures {
    const HAND_IN: HandIn = HandIn::HOMEWORK1;

    fn measure(arguments: &Arguments) -> Result<Result<Self, String>> {
        let dataset = found_dataset(arguments)?;
        let device = Device::open(arguments.device, &kernels_gpu::PTX)?;
        let plan = Plan {
            quick: arguments.quick,
            seed: arguments.seed,
            peers: peers(arguments),
            recorded: recorded::folder(),
        };
        let progress = Progress::new(&measure::STAGES);
        let figures = measure::run(&plan, &device, &dataset, &mut |stage, what| progress.stage(stage, what));
        progress.finish();
        Ok(figures.map_err(|error| error.to_string()))
    }

    fn document(&self, author: Option<&str>, notes: &[Block]) -> Result<Document, DocumentError> {
        document(self, author, notes)
    }

    fn noise(&self) -> Option<String> {
        statements::noise(self)
    }
}

impl Report for assignment2::Figures {
    const HAND_IN: HandIn = HandIn::ASSIGNMENT2;

    fn measure(arguments: &Arguments) -> Result<Result<Self, String>> {
        let dataset = found_dataset(arguments)?;
        let device = Device::open(arguments.device, &kernels_gpu::PTX)?;
        let plan = assignment2::measure::Plan { quick: arguments.quick, seed: arguments.seed, peers: peers(arguments) };
        let progress = Progress::new(&assignment2::measure::STAGES);
        let mut stage = |stage: &str, what: &str| progress.stage(stage, what);
        let figures = assignment2::measure::run(&plan, &device, &dataset, &mut stage);
        progress.finish();
        Ok(figures.map_err(|error| error.to_string()))
    }

    fn document(&self, author: Option<&str>, notes: &[Block]) -> Result<Document, DocumentError> {
        assignment2::document(self, author, notes)
    }

    fn noise(&self) -> Option<String> {
        assignment2::noise(self)
    }
}

impl Report for distributed::Figures {
    const HAND_IN: HandIn = HandIn::ASSIGNMENT3;

    fn measure(arguments: &Arguments) -> Result<Result<Self, String>> {
        if arguments.python.is_some() || arguments.device != DeviceChoice::default() {
            bail!("--python and --device are for assignments 1 and 2: omit them");
        }
        let dataset = found_dataset(arguments)?;
        let plan = distributed::Plan { quick: arguments.quick, seed: arguments.seed, data: arguments.data.clone() };
        let progress = Progress::new(&distributed::measure::STAGES);
        let figures = distributed::measure::run(&plan, &dataset, &mut |stage, what| progress.stage(stage, what));
        progress.finish();
        Ok(figures)
    }

    fn document(&self, author: Option<&str>, notes: &[Block]) -> Result<Document, DocumentError> {
        distributed::document(self, author, notes)
    }
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

/// The settings of the peers' measurement.
fn peers(arguments: &Arguments) -> PeerOptions {
    let [limit, budget] = Plan::peer_limits(arguments.quick);
    PeerOptions {
        python: (!arguments.no_python).then(|| arguments.python.clone().unwrap_or_else(command_line::python)),
        scripts: Scripts::of_workspace(),
        limit,
        budget,
        repeats: Plan::peer_repeats(arguments.quick),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
    }
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
