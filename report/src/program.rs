//! The program: arguments, progress on stderr, and output files.

mod finish;
mod progress;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use command_line::{CHECK_FAILED, one_of, parse_seed};
use gpu::{Device, DeviceChoice};
use neural_net::data::{Dataset, find_mnist, idx};
use neural_net::files::{create_directory, require_distinct, require_writable, write_atomically};
use report::archive::HandIn;
use report::distributed::job;
use report::document::{Document, DocumentError, document};
use report::measure::Plan;
use report::notes::Block;
use report::peers::{PeerOptions, Scripts};
use report::typeset::{Pages, Typesetter};
use report::{Figures, archive, assignment2, distributed, form, measure, notes, recorded, statements};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::progress::Progress;

/// Measures the homework on this machine and writes the report about it, hw1.pdf: the instructor's model of a student's
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
    /// Instead, write the blank form for students, without measuring anything: the questions, empty tables, and lines to write
    /// on [default file: report/hw1-blank.pdf]
    #[arg(
        long,
        conflicts_with_all = [
            "quick", "notes", "zip", "html", "json", "figures", "seed", "device", "python", "no_python", "data"
        ]
    )]
    blank: bool,
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
    /// Read the figures from a file that an earlier run saved next to its report, instead of
    /// measuring; the output of --json is such a file too
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "seed", "device", "python", "no_python", "data"])]
    figures: Option<PathBuf>,
    /// Seed of the random input
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = parse_seed)]
    seed: u64,
    /// Device of the GPU versions; the simulator and the PTX interpreter check them, but are never timed
    #[arg(long, default_value_t, value_parser = one_of(&DeviceChoice::ALL, DeviceChoice::name, DeviceChoice::description))]
    device: DeviceChoice,
    /// Python 3 with NumPy and Numba, to compare times with [default: $PYTHON, else python3, on
    /// Windows python]
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
    if arguments.blank {
        return blank(arguments);
    }
    match &arguments.assignment[..] {
        "2" => report::<assignment2::Figures>(arguments),
        "3" => report::<distributed::Figures>(arguments),
        _ => report::<Figures>(arguments),
    }
}

/// Returns the figures, or the reason why they could not be measured.
type Measurement<R> = Box<dyn FnOnce() -> Result<R, String>>;

/// The figures of an assignment's report.
trait Report: Serialize + DeserializeOwned {
    /// The hand-in that belongs to it.
    const HAND_IN: HandIn;

    /// Prepares the measurement of the figures. Invalid input is an error before anything is measured.
    fn measurement(arguments: &Arguments) -> Result<Measurement<Self>>;

    fn document(&self, author: Option<&str>, notes: &[Block]) -> Result<Document, DocumentError>;

    /// A reason to repeat the measurement.
    fn noise(&self) -> Option<String> {
        None
    }
}

/// Measures or reads the figures, then writes the report and the other requested files.
fn report<R: Report + 'static>(arguments: &Arguments) -> Result<ExitCode> {
    let out = arguments.out.clone().unwrap_or_else(|| archive::workspace().join("report").join(R::HAND_IN.report));
    // Measured figures are saved. Without Cargo or a network, the report can be finished later.
    let saved = arguments.figures.is_none().then(|| out.with_extension("figures.json"));
    let mut files = vec![("--out", out.clone())];
    files.extend(saved.clone().map(|file| ("--out", file)));
    files.extend(arguments.html.then(|| ("--html", out.with_extension("html"))));
    files.extend(arguments.zip.then(|| ("--zip", out.with_extension("zip"))));
    require_valid(arguments, &out, &files)?;
    let notes = arguments.notes.as_deref().map(notes::read).transpose()?.unwrap_or_default();
    let figures: Measurement<R> = match &arguments.figures {
        Some(file) => {
            let given = read(arguments, file)?;
            Box::new(|| Ok(given))
        }
        None => R::measurement(arguments)?,
    };
    // At this point, all input has been read, and nothing has been written.
    prepare(&files)?;
    // Built before anything is timed.
    let typesetter = Typesetter::build(&archive::workspace()).map_err(|error| error.to_string());
    if let (Err(reason), Some(saved)) = (&typesetter, &saved) {
        command_line::note!("[*] Only the figures will be written, to {}: {reason}.", saved.display());
    }
    let figures = match figures() {
        Ok(figures) => figures,
        Err(error) => {
            command_line::note!("error: {error}");
            return Ok(ExitCode::from(CHECK_FAILED));
        }
    };
    let json = serde_json::to_string(&figures)?;
    if let Some(saved) = &saved {
        keep(saved, json.as_bytes())?;
        command_line::note!("[*] {}: the figures", saved.display());
    }
    let document = figures.document(arguments.author.as_deref(), &notes)?;
    let typeset = |by: Typesetter| by.typeset(&document, arguments.html).map_err(|error| error.to_string());
    let pages = typesetter.and_then(typeset);
    if let Ok(pages) = &pages {
        write(arguments, &out, pages, R::HAND_IN)?;
    }
    if let Some(noise) = figures.noise() {
        command_line::note!("[*] {noise} Measure again while nothing else runs.");
    }
    if arguments.json {
        command_line::say!("{json}");
    }
    let Err(reason) = pages else { return Ok(ExitCode::SUCCESS) };
    let later = saved.map_or_else(String::new, |saved| {
        let command = finish::command(arguments, &saved);
        format!(
            ". The figures are in {}. When that is fixed, this makes the report of them: {command}",
            saved.display()
        )
    });
    command_line::note!("error: {} is not written: {reason}{later}", out.display());
    Ok(ExitCode::from(CHECK_FAILED))
}

/// Writes the blank form of an assignment.
fn blank(arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { assignment, out, author, .. } = arguments;
    let default = || archive::workspace().join("report").join(format!("hw{assignment}-blank.pdf"));
    let out = out.clone().unwrap_or_else(default);
    require_valid(arguments, &out, &[("--out", out.clone())])?;
    prepare(&[("--out", out.clone())])?;
    let document = form::document(assignment, author.as_deref());
    let typesetter = Typesetter::build(&archive::workspace()).map_err(|error| error.to_string());
    let typeset = |by: Typesetter| by.typeset(&document, false).map_err(|error| error.to_string());
    let pages = typesetter.and_then(typeset);
    match pages {
        Ok(pages) => {
            keep(&out, &pages.pdf)?;
            command_line::note!("[*] {}: {} pages to fill in", out.display(), pages.count);
            Ok(ExitCode::SUCCESS)
        }
        Err(reason) => {
            command_line::note!("error: {} is not written: {reason}", out.display());
            Ok(ExitCode::from(CHECK_FAILED))
        }
    }
}

/// Checks that the files can be written and creates their folders. Also says so if Typst must be
/// compiled first.
fn prepare(files: &[(&str, PathBuf)]) -> Result<()> {
    let cannot_write = |file: &Path| format!("cannot write {}: choose another path with --out", file.display());
    for (_, file) in files {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_directory(folder).with_context(|| cannot_write(file))?;
        }
        require_writable(file).with_context(|| cannot_write(file))?;
    }
    if !Typesetter::is_built() {
        command_line::note!("[*] Typst, which sets the pages, is compiled first: that takes minutes, once.");
    }
    Ok(())
}

/// Checks the arguments that name files and the author's name.
fn require_valid(arguments: &Arguments, out: &Path, files: &[(&str, PathBuf)]) -> Result<()> {
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
    Ok(require_distinct(files.iter().map(|(flag, file)| (*flag, file.as_path())), &inputs)?)
}

/// Reads the figures in the file `--figures`.
fn read<R: Report>(arguments: &Arguments, file: &Path) -> Result<R> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the figures in {name}"))?;
    let of = &arguments.assignment;
    serde_json::from_str(&text).with_context(|| format!("{name} is not the output of --assignment {of} --json"))
}

impl Report for Figures {
    const HAND_IN: HandIn = HandIn::HOMEWORK1;

    fn measurement(arguments: &Arguments) -> Result<Measurement<Self>> {
        let dataset = found_dataset(arguments)?;
        let device = Device::open(arguments.device, &kernels_gpu::PTX)?;
        let plan = Plan {
            quick: arguments.quick,
            seed: arguments.seed,
            peers: peers(arguments),
            recorded: recorded::folder(),
        };
        Ok(Box::new(move || {
            let progress = Progress::new(&measure::STAGES);
            let figures = measure::run(&plan, &device, &dataset, &mut |stage, what| progress.stage(stage, what));
            progress.finish();
            figures.map_err(|error| error.to_string())
        }))
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

    fn measurement(arguments: &Arguments) -> Result<Measurement<Self>> {
        let dataset = found_dataset(arguments)?;
        let device = Device::open(arguments.device, &kernels_gpu::PTX)?;
        let plan = assignment2::measure::Plan { quick: arguments.quick, seed: arguments.seed, peers: peers(arguments) };
        Ok(Box::new(move || {
            let progress = Progress::new(&assignment2::measure::STAGES);
            let mut stage = |stage: &str, what: &str| progress.stage(stage, what);
            let figures = assignment2::measure::run(&plan, &device, &dataset, &mut stage);
            progress.finish();
            figures.map_err(|error| error.to_string())
        }))
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

    fn measurement(arguments: &Arguments) -> Result<Measurement<Self>> {
        if arguments.python.is_some() || arguments.device != DeviceChoice::default() {
            bail!("--python and --device are for assignments 1 and 2: omit them");
        }
        let dataset = found_dataset(arguments)?;
        let plan = distributed::Plan { quick: arguments.quick, seed: arguments.seed, data: arguments.data.clone() };
        Ok(Box::new(move || {
            let progress = Progress::new(&distributed::measure::STAGES);
            let figures = distributed::measure::run(&plan, &dataset, &mut |stage, what| progress.stage(stage, what));
            progress.finish();
            figures
        }))
    }

    fn document(&self, author: Option<&str>, notes: &[Block]) -> Result<Document, DocumentError> {
        distributed::document(self, author, notes)
    }
}

/// The images: MNIST's, or others with a note.
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

/// Writes a file atomically.
fn keep(file: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Writes the report and the other requested files.
fn write(arguments: &Arguments, out: &Path, pages: &Pages, hand_in: HandIn) -> Result<()> {
    keep(out, &pages.pdf)?;
    command_line::note!("[*] {}: {} pages", out.display(), pages.count);
    if let Some(html) = &pages.html {
        let file = out.with_extension("html");
        keep(&file, html.as_bytes())?;
        command_line::note!("[*] {}", file.display());
    }
    if arguments.zip {
        let file = out.with_extension("zip");
        keep(&file, &archive::archive(hand_in, &archive::workspace(), &pages.pdf)?)?;
        command_line::note!(
            "[*] {}: {}, what they are built from, and the report",
            file.display(),
            hand_in.packages().collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}
