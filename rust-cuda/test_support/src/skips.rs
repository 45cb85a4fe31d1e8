//! Counts skipped tests by the requirement that this machine lacks.
//!
//! A test cannot tell the test harness that it is skipped, so the harness prints `ok`. [`skip`]
//! prints one line that the harness does not capture, and appends the test to a file, so all of
//! them can be counted at the end of a run. [`of_this_run`] reads the file of the running
//! `cargo test`, [`read`] any other.

use std::ffi::OsString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::panic::Location;
use std::path::{Path, PathBuf};

/// Something outside the repository that some tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A CUDA GPU and its driver.
    Gpu,
    /// An adapter for compute shaders, in hardware or software.
    Shader,
    /// A C compiler, for the stub CUDA driver.
    Cc,
    /// A Rust toolchain that builds PTX.
    Ptx,
    /// NVIDIA's assembler.
    Ptxas,
    /// MNIST's files, named by `MNIST_DIR`.
    Mnist,
    /// The stock market's file, named by `STOCKS_CSV`.
    Stocks,
    /// The internet, used only if `NETWORK_TESTS=require`.
    Network,
    /// Python with NumPy.
    Numpy,
    /// Python with SciPy.
    Scipy,
    /// Other compilers of PTX: clang, NVRTC, Numba and Triton.
    ForeignPtx,
    /// `pdftotext`.
    PdfToText,
    /// Node.js.
    Node,
    /// Chromium.
    Chromium,
    /// An MPI installation, with mpiexec.
    Mpi,
    /// A git checkout.
    Git,
    /// The size of the L3 cache as reported by the system.
    CacheSize,
}

impl Need {
    /// All needs.
    pub const ALL: [Self; 17] = [
        Self::Gpu,
        Self::Shader,
        Self::Cc,
        Self::Ptx,
        Self::Ptxas,
        Self::Mnist,
        Self::Stocks,
        Self::Network,
        Self::Numpy,
        Self::Scipy,
        Self::ForeignPtx,
        Self::PdfToText,
        Self::Node,
        Self::Chromium,
        Self::Mpi,
        Self::Git,
        Self::CacheSize,
    ];

    /// The environment variable that turns a skip for this need into a failure if it is set to
    /// `require`.
    fn variable(self) -> String {
        match self {
            Self::Ptxas => Self::Ptx.variable(),
            _ => format!("{}_TESTS", self.to_string().to_uppercase().replace('-', "_")),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gpu => "gpu",
            Self::Shader => "shader",
            Self::Cc => "cc",
            Self::Ptx => "ptx",
            Self::Ptxas => "ptxas",
            Self::Mnist => "mnist",
            Self::Stocks => "stocks",
            Self::Network => "network",
            Self::Numpy => "numpy",
            Self::Scipy => "scipy",
            Self::ForeignPtx => "foreign-ptx",
            Self::PdfToText => "pdftotext",
            Self::Node => "node",
            Self::Chromium => "chromium",
            Self::Mpi => "mpi",
            Self::Git => "git",
            Self::CacheSize => "cache-size",
        })
    }
}

/// A test that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skip {
    /// The missing need.
    pub need: Need,
    /// Name of the test, with its module path.
    pub test: String,
    /// Why this machine does not provide it.
    pub reason: String,
}

/// Environment variable with the path of the file to which skipped tests are appended.
const FILE: &str = "SKIPPED_TESTS";

/// Whether the environment requires `need`, for example `GPU_TESTS=require` for [`Need::Gpu`].
pub fn is_required(need: Need) -> bool {
    std::env::var_os(need.variable()).is_some_and(|value| value == "require")
}

/// Reports that the calling test is skipped, with the reason. The test must return afterwards.
///
/// # Panics
/// If the environment requires `need`, for example `GPU_TESTS=require` for [`Need::Gpu`], or if the
/// skip cannot be appended to this run's file.
#[track_caller]
pub fn skip(need: Need, reason: &str) {
    let test = calling_test();
    let variable = need.variable();
    assert!(!is_required(need), "{test} must not be skipped, since {variable}=require: {reason}");
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    // Written to stderr directly, since the test harness captures `eprintln!` of passing tests.
    let _ = writeln!(io::stderr(), "SKIPPED {test} (needs {need}): {reason}");
    if let Some(file) = file_of_this_run() {
        append(&file, &format!("{need}\t{test}\t{reason}\n"))
            .unwrap_or_else(|error| panic!("cannot append the skipped test to {}: {error}", file.display()));
    }
}

/// The path in an environment variable. If the variable is unset or empty, the calling test is skipped.
///
/// # Panics
/// Same as [`skip`].
#[track_caller]
pub fn path_in(variable: &str, need: Need) -> Option<PathBuf> {
    let path = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    if path.is_none() {
        skip(need, &format!("the environment variable {variable} is not set"));
    }
    path
}

/// A Python interpreter that can import NumPy: `$PYTHON`, otherwise `python3`. If it cannot, the
/// calling test is skipped.
///
/// # Panics
/// Same as [`skip`].
#[track_caller]
pub fn python_with_numpy() -> Option<OsString> {
    python_with("numpy", Need::Numpy)
}

/// Like [`python_with_numpy`], for SciPy.
///
/// # Panics
/// Same as [`skip`].
#[track_caller]
pub fn python_with_scipy() -> Option<OsString> {
    python_with("scipy", Need::Scipy)
}

#[track_caller]
fn python_with(package: &str, need: Need) -> Option<OsString> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let imports = std::process::Command::new(&python).args(["-c", &format!("import {package}")]).output();
    let python = imports.is_ok_and(|output| output.status.success()).then_some(python);
    if python.is_none() {
        skip(need, &format!("$PYTHON, else python3, cannot import {package}"));
    }
    python
}

/// The test's name. The harness names a test's thread after the test, unless it runs all tests in
/// the main thread.
#[track_caller]
fn calling_test() -> String {
    match std::thread::current().name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => Location::caller().to_string(),
    }
}

/// The file for this run. A run is one `cargo test` process, which starts all test programs. Unless
/// `SKIPPED_TESTS` names the file, its name ends in that process's id. A test program outside a
/// target folder has no file.
fn file_of_this_run() -> Option<PathBuf> {
    if let Some(file) = std::env::var_os(FILE) {
        return Some(file.into());
    }
    #[cfg(unix)]
    {
        let program = std::env::current_exe().ok()?;
        let folder = program.parent().filter(|folder| folder.ends_with("deps"))?.parent()?;
        Some(folder.join(format!("skipped-tests-{}", std::os::unix::process::parent_id())))
    }
    #[cfg(not(unix))]
    None
}

/// Appends the line in one write, since several threads and processes append at the same time.
fn append(file: &Path, line: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(line.as_bytes())
}

/// The tests that this run has skipped so far. Deletes their file, unless `SKIPPED_TESTS` names it.
///
/// # Errors
/// Same as [`read`].
pub fn of_this_run() -> io::Result<Vec<Skip>> {
    let Some(file) = file_of_this_run().filter(|file| file.exists()) else { return Ok(Vec::new()) };
    let skips = read(&file);
    if std::env::var_os(FILE).is_none() {
        std::fs::remove_file(&file)?;
    }
    skips
}

/// The skipped tests in a file, sorted, without duplicates of need and test.
///
/// # Errors
/// If the file cannot be read, or has a line that [`skip`] does not write.
pub fn read(file: &Path) -> io::Result<Vec<Skip>> {
    let text = std::fs::read_to_string(file)?;
    let wrong = |line: &str| io::Error::new(io::ErrorKind::InvalidData, format!("not a skipped test: {line:?}"));
    let mut skips = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, '\t');
        let (Some(need), Some(test), Some(reason)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(wrong(line));
        };
        let need = Need::ALL.into_iter().find(|known| known.to_string() == need).ok_or_else(|| wrong(line))?;
        skips.push(Skip { need, test: test.to_owned(), reason: reason.to_owned() });
    }
    skips.sort();
    skips.dedup_by(|one, other| (one.need, &one.test) == (other.need, &other.test));
    Ok(skips)
}

/// One line with the number of tests, and one for each need with its count and one reason.
pub fn summary(skips: &[Skip]) -> String {
    let tests = |count: usize| if count == 1 { "1 test".to_owned() } else { format!("{count} tests") };
    let mut lines = Vec::new();
    for of_need in skips.chunk_by(|one, other| one.need == other.need) {
        lines.push(format!("    {:>4}  {:<10}  {}", of_need.len(), of_need[0].need, of_need[0].reason));
    }
    let mut names: Vec<&str> = skips.iter().map(|skip| skip.test.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 => "skipped: no test".to_owned(),
        count => format!("skipped: {}, which passed without testing anything\n{}", tests(count), lines.join("\n")),
    }
}
