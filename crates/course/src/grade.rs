//! `cargo xtask grade`: grades submissions of the homework.
//!
//! The sources of a submission go into a clean workspace of `starter`, whose Cargo.toml, programs and tests are given; the
//! tests run one by one, with inputs of a seed that is chosen at grading, each in a sandbox with limits.

mod findings;
mod points;
mod results;
mod sandbox;
mod submission;
mod workspace;

use std::cell::RefCell;
use std::collections::hash_map::{Entry, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use command_line::{counted, note, one_of, say};
use cuda_builder::{Arch, find_toolchain, toolchain_candidates};
use indicatif::{ProgressBar, ProgressStyle};
use whole_files::{DirectoryLock, write_atomically};

use self::points::{Program, TESTS, Test};
use self::results::{Grade, Item};
use self::sandbox::Sandbox;
use self::submission::PartFiles;
use self::workspace::Workspace;
use crate::starter::Part;

/// What `cargo xtask grade` is asked to do.
#[derive(Args)]
pub struct Options {
    /// A submission: a ZIP file, or a folder, with the crates of the homework's workspace
    #[arg(value_name = "SUBMISSION", required_unless_present = "all")]
    submission: Option<PathBuf>,
    /// Grade every file and folder in a folder, other than hidden ones
    #[arg(long, value_name = "DIR", conflicts_with = "submission", requires = "csv")]
    all: Option<PathBuf>,
    /// With --all: the table of names and points
    #[arg(long, value_name = "FILE", requires = "all")]
    csv: Option<PathBuf>,
    /// With --all: a folder for each submission's results, NAME.txt as a student reads them and NAME.json for Gradescope
    #[arg(long, value_name = "DIR", requires = "all")]
    feedback: Option<PathBuf>,
    /// Part of the homework that is graded, of 100 points [default: 1, 2, 3 and activation]; may be repeated, or a list with commas
    #[arg(long, value_delimiter = ',', value_parser = one_of(&Part::HOMEWORK, Part::name, Part::description))]
    part: Vec<Part>,
    /// Seconds that a test may take
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600))]
    limit: u64,
    /// Seed of the tests' inputs; those that students have use 0
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Also write the results as Gradescope reads them
    #[arg(long, value_name = "results.json")]
    json: Option<PathBuf>,
    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Run submissions without a sandbox: they can read and delete your files
    #[arg(long)]
    unsandboxed: bool,
}

/// Limit of a compilation.
const COMPILE_LIMIT: Duration = Duration::from_secs(600);

/// Grades one submission, or all of a folder, and prints or writes the results.
///
/// # Errors
/// If the grader itself fails; whatever is wrong with a submission costs points.
pub fn run(options: &Options) -> Result<ExitCode> {
    if options.all.is_some() {
        for (option, is_given) in [("--json", options.json.is_some()), ("--junit", options.junit.is_some())] {
            ensure!(!is_given, "{option} is for one submission: with --all, --feedback DIR writes the results of each");
        }
    }
    let grader = Grader::new(options)?;
    if let (Some(folder), Some(csv)) = (&options.all, &options.csv) {
        return grade_all(&grader, folder, csv, options.feedback.as_deref());
    }
    let submission = options.submission.as_deref().context("there is a submission")?;
    ensure!(submission.exists(), "{} does not exist: give a ZIP file or a folder", submission.display());
    let grade = grader.grade(submission)?;
    grader.not_graded().into_iter().for_each(|line| note!("{line}"));
    say!("{}", grade.to_text().trim_end());
    for (file, text) in [(&options.json, grade.to_gradescope()), (&options.junit, grade.to_junit())] {
        if let Some(file) = file {
            write_atomically(file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The entries of a folder, sorted, without hidden ones and `results`, which an earlier call may have written there.
fn submissions_in(folder: &Path, results: &[&Path]) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut submissions = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let results: Vec<PathBuf> = results.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    submissions.retain(|path| !is_hidden(path) && path.canonicalize().map_or(true, |path| !results.contains(&path)));
    submissions.sort();
    ensure!(!submissions.is_empty(), "{} has no submissions", folder.display());
    Ok(submissions)
}

/// Grades every submission of a folder, in the order of their names, and writes the table.
fn grade_all(grader: &Grader, folder: &Path, csv: &Path, feedback: Option<&Path>) -> Result<ExitCode> {
    let results: Vec<&Path> = [Some(csv), feedback].into_iter().flatten().collect();
    let submissions = submissions_in(folder, &results)?;
    if let Some(feedback) = feedback {
        std::fs::create_dir_all(feedback).with_context(|| format!("cannot create {}", feedback.display()))?;
    }
    grader.not_graded().into_iter().for_each(|line| note!("{line}"));
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len}, {eta} left: {msg}");
    let bar = ProgressBar::new(submissions.len() as u64).with_style(style.expect("the template is well-formed"));
    let mut grades = Vec::new();
    for path in &submissions {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        bar.set_message(name.clone());
        let grade = grader.grade(path)?;
        let (points, maximum, reason) = (grade.points(), grade.maximum(), grade.reason());
        let reason = if reason.is_empty() { reason } else { format!(" ({reason})") };
        bar.suspend(|| note!("{name}: {points} of {maximum}{reason}"));
        bar.inc(1);
        if let Some(feedback) = feedback {
            for (extension, text) in [("txt", grade.to_text()), ("json", grade.to_gradescope())] {
                let file = feedback.join(format!("{name}.{extension}"));
                write_atomically(&file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        grades.push((name, grade));
    }
    bar.finish_and_clear();
    let table = results::table(&grader.parts, &grades)?;
    write_atomically(csv, table.as_bytes()).with_context(|| format!("cannot write {}", csv.display()))?;
    say!("{}: {}", csv.display(), counted(submissions.len(), "submission"));
    Ok(ExitCode::SUCCESS)
}

/// What all submissions share: the compiled dependencies, and the sandbox.
struct Grader {
    target: PathBuf,
    workspace: Workspace,
    /// One grader at a time compiles there.
    _lock: DirectoryLock,
    /// The parts that are graded, in the homework's order.
    parts: Vec<Part>,
    seed: u32,
    limit: Duration,
    sandbox: Sandbox,
    /// A folder that no submission may read.
    class: Option<PathBuf>,
    has_ptx_toolchain: bool,
    has_cores: bool,
    /// The results of parts by their files: many submissions of a class have a part as it was given.
    graded: RefCell<HashMap<PartFiles, Vec<Item>>>,
}

impl Grader {
    fn new(options: &Options) -> Result<Self> {
        let sandbox = match (options.unsandboxed, Sandbox::find()) {
            (true, _) => Sandbox::None,
            (false, Some(sandbox)) => sandbox,
            (false, None) => bail!(
                "submissions run in a sandbox, and there is no bwrap here: `apt-get install bubblewrap`, or add --unsandboxed if you \
                 trust them"
            ),
        };
        let target = crate::workspace_root().join("target/grade");
        std::fs::create_dir_all(&target).with_context(|| format!("cannot create {}", target.display()))?;
        let lock = DirectoryLock::acquire(&target)?;
        let workspace = Workspace::create(&target.join("homework"))?;
        let has_ptx_toolchain = find_toolchain(&toolchain_candidates(), Arch::Sm75, crate::workspace_root()).is_ok();
        prepare(&workspace, &target, has_ptx_toolchain)?;
        Ok(Self {
            workspace,
            target,
            _lock: lock,
            parts: Part::HOMEWORK
                .into_iter()
                .filter(|part| options.part.is_empty() || options.part.contains(part))
                .collect(),
            seed: options.seed,
            limit: Duration::from_secs(options.limit),
            sandbox,
            class: options.all.as_deref().map(std::path::absolute).transpose()?,
            has_ptx_toolchain,
            has_cores: std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1),
            graded: RefCell::default(),
        })
    }

    /// The tests of the graded parts.
    fn all_tests(&self) -> impl Iterator<Item = &'static Test> {
        TESTS.iter().filter(|test| self.parts.contains(&test.part))
    }

    /// The tests that this machine can run.
    fn tests(&self) -> impl Iterator<Item = &'static Test> {
        let can_run = |test: &&Test| {
            (self.has_ptx_toolchain || test.program != Program::Ptx) && (self.has_cores || !test.is_timed)
        };
        self.all_tests().filter(can_run)
    }

    /// The tests that are left out, in a line for each reason.
    fn not_graded(&self) -> Vec<String> {
        let left_out = |why: &str, is_left_out: fn(&&Test) -> bool| {
            let items = self.all_tests().filter(is_left_out).map(Item::passed).collect();
            format!("not graded: tests of {} points, since {why}", self.graded_as(items, Vec::new()).points())
        };
        let mut lines = Vec::new();
        if !self.has_ptx_toolchain {
            let why = "there is no toolchain for PTX (cargo xtask doctor)";
            lines.push(left_out(why, |test| test.program == Program::Ptx));
        }
        if !self.has_cores {
            lines.push(left_out("there is only one core", |test| test.is_timed));
        }
        lines
    }

    fn graded_as(&self, items: Vec<Item>, findings: Vec<String>) -> Grade {
        Grade { items, whole: self.all_tests().map(|test| test.points).sum(), findings }
    }

    /// Grades one submission. Whatever is wrong with it costs points.
    ///
    /// # Errors
    /// If the grader itself fails.
    fn grade(&self, path: &Path) -> Result<Grade> {
        let sources = match submission::read(path) {
            Ok(sources) => sources,
            Err(reason) => {
                let items = self.tests().map(|test| Item::failed(test, &reason));
                return Ok(self.graded_as(items.collect(), Vec::new()));
            }
        };
        let mut items = Vec::with_capacity(TESTS.len());
        self.workspace.put(&sources)?;
        for &part in &self.parts {
            let (files, package) = (sources.of(part), part.package());
            let not_read = sources.unreadable.get(package).cloned();
            let missing = || format!("the submission does not have this part: there is no {package}/src/….rs");
            if let Some(reason) = not_read.or_else(|| files.is_empty().then(missing)) {
                let tests = self.tests().filter(|test| test.part == part);
                items.extend(tests.map(|test| Item::failed(test, &reason)));
                continue;
            }
            let mut graded = self.graded.borrow_mut();
            let of_part = match graded.entry(files) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(vacant) => vacant.insert(self.grade_part(part)?),
            };
            items.extend_from_slice(of_part);
        }
        Ok(self.graded_as(items, findings::of(&sources)))
    }

    /// Compiles and tests a part of the submission that is in the workspace.
    fn grade_part(&self, part: Part) -> Result<Vec<Item>> {
        let folder = tempfile::Builder::new().prefix("grade-").tempdir().context("cannot create a folder")?;
        sandbox::open_to_all(folder.path())?;
        let mut items = Vec::new();
        for program in [Program::Source, Program::Ptx] {
            let tests = || self.tests().filter(|test| test.part == part && test.program == program);
            if tests().next().is_none() {
                continue;
            }
            let executable = match self.compiled(part, program, folder.path())? {
                Ok(executable) => executable,
                Err(messages) => {
                    // The PTX's tests use the library that does not compile.
                    let rest = self.tests().filter(|test| test.part == part).skip(items.len());
                    items.extend(rest.map(|test| Item::failed(test, &messages)));
                    break;
                }
            };
            for test in tests() {
                items.push(self.run_test(test, &executable, folder.path())?);
            }
        }
        Ok(items)
    }

    /// The test program of a part; the inner error has the compiler's messages.
    fn compiled(&self, part: Part, program: Program, folder: &Path) -> Result<Result<PathBuf, String>> {
        let package = Workspace::package(part, program);
        let test = match program {
            Program::Source => "public",
            Program::Ptx => "ptx",
        };
        let arguments = ["test", "--offline", "--no-run", "--message-format=short", "--test", test, "-p", &package];
        let workspace = self.workspace.folder();
        let mut command =
            self.sandbox.compile(Path::new(&cargo()), &arguments, [workspace, &self.target], self.class.as_deref());
        set_target(&mut command, workspace, &self.target);
        let finished = match child_process::run(&mut command, COMPILE_LIMIT, &package, &folder.join("log"))? {
            Ok(finished) => finished,
            Err(error) => bail!("{error}"),
        };
        if !finished.is_success() {
            let errors: Vec<&str> = finished.stderr.lines().filter(|line| line.contains("error")).take(5).collect();
            let ending = match (finished.status, program) {
                (None, _) => "the compiler was stopped",
                (Some(_), Program::Source) => "it does not compile",
                (Some(_), Program::Ptx) => "the file of the kernels does not compile to PTX by itself",
            };
            return Ok(Err(format!("{ending}:\n{}", errors.join("\n"))));
        }
        let executable = finished.stderr.lines().rev().find_map(|line| {
            let path = line.trim().strip_prefix("Executable tests/")?.split_once(" (")?.1.strip_suffix(')')?;
            Some(workspace.join(path))
        });
        let executable = executable.with_context(|| format!("cargo names no test program:\n{}", finished.stderr))?;
        // Another submission's may get the same name.
        let own = folder.join(&package);
        std::fs::copy(&executable, &own).with_context(|| format!("cannot copy {}", executable.display()))?;
        Ok(Ok(own))
    }

    /// Runs one test in the sandbox.
    fn run_test(&self, test: &Test, program: &Path, folder: &Path) -> Result<Item> {
        let arguments = [test.name, "--exact", "--test-threads=1"];
        let mut command = self.sandbox.run(program, &arguments);
        command.env("HOMEWORK_SEED", self.seed.to_string()).env("RUST_BACKTRACE", "0");
        let finished = match child_process::run(&mut command, self.limit, test.name, &folder.join("log"))? {
            Ok(finished) => finished,
            Err(error) => bail!("{error}"),
        };
        let passed = format!("test {} ... ok", test.name);
        // A program that ends itself has no last line.
        let is_complete = finished.stdout.contains("test result: ok. 1 passed; 0 failed;");
        if finished.is_success() && finished.stdout.lines().any(|line| line == passed) && is_complete {
            return Ok(Item::passed(test));
        }
        Ok(Item::failed(test, &sandbox::feedback(&finished, self.limit)))
    }
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn set_target(command: &mut Command, workspace: &Path, target: &Path) {
    command.current_dir(workspace).env("CARGO_TARGET_DIR", target).env("GRADE_TARGET", target);
}

/// Fetches what the solutions depend on, and compiles them: submissions are compiled without network.
fn prepare(workspace: &Workspace, target: &Path, has_ptx_toolchain: bool) -> Result<()> {
    note!("preparing: compiling the solutions");
    let mut command = Command::new(cargo());
    command.args(["test", "--no-run", "--quiet", "--workspace", "--test", "public"]);
    match has_ptx_toolchain {
        true => command.args(["--test", "ptx"]),
        false => command.args(["--exclude", "*_ptx"]),
    };
    set_target(&mut command, workspace.folder(), target);
    let output = command.output().context("cannot start cargo")?;
    ensure!(
        output.status.success(),
        "the solutions do not compile: {}",
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    Ok(())
}
