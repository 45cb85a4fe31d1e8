//! `cargo xtask grade`: grades submissions of the homework.
//!
//! The sources of a submission go into a clean workspace of `starter`, whose Cargo.toml, programs and tests are given; the
//! tests run one by one, with inputs of a seed that is chosen at grading, each in a sandbox with limits.

mod findings;
mod results;
mod sandbox;
mod submission;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use neural_net::files::{DirectoryLock, write_atomically};
use timing::{note, say};

use self::results::{Grade, Item};
use self::sandbox::Sandbox;
use crate::starter::{self, Part};

#[derive(Args)]
pub(crate) struct Options {
    /// A submission: a ZIP file, or a folder, with the crates of the homework's workspace
    #[arg(value_name = "SUBMISSION", required_unless_present = "all")]
    submission: Option<PathBuf>,
    /// Grade every ZIP file and folder in a folder
    #[arg(long, value_name = "DIR", conflicts_with = "submission", requires = "csv")]
    all: Option<PathBuf>,
    /// With --all: the table of names and points
    #[arg(long, value_name = "FILE", requires = "all")]
    csv: Option<PathBuf>,
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

/// A test with its points.
struct Test {
    part: Part,
    name: &'static str,
    points: f64,
}

const fn test(part: Part, name: &'static str, points: f64) -> Test {
    Test { part, name, points }
}

/// The tests of all parts: 100 points.
const TESTS: [Test; 17] = [
    test(Part::One, "sigmoid_has_known_values", 5.0),
    test(Part::One, "sigmoid_prime_has_known_values", 5.0),
    test(Part::One, "random_weights_have_the_shapes_the_bounds_and_the_seed", 5.0),
    test(Part::One, "zeros_have_the_shapes", 3.0),
    test(Part::One, "batches_have_all_rows_in_order_and_the_remainder_last", 5.0),
    test(Part::One, "lists_are_added_pair_by_pair", 2.0),
    test(Part::Two, "max_cpu_is_right", 7.0),
    test(Part::Two, "max_rayon_is_right", 8.0),
    test(Part::Two, "max_gpu_is_right_on_the_simulator", 10.0),
    test(Part::Two, "max_gpu_takes_the_homeworks_matrices", 3.0),
    test(Part::Two, "different_shapes_are_rejected", 2.0),
    test(Part::Three, "matmul_transpose_trivial_is_right", 8.0),
    test(Part::Three, "matmul_transpose_rayon_is_right", 10.0),
    test(Part::Three, "matmul_transpose_gpu_is_right_on_the_simulator", 12.0),
    test(Part::Activation, "each_step_is_right", 5.0),
    test(Part::Activation, "the_loops_are_right", 4.0),
    test(Part::Activation, "the_kernels_are_right_on_the_simulator", 6.0),
];

/// Limits of a compilation and of a test.
const COMPILE_LIMIT: Duration = Duration::from_secs(600);
const TEST_LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let grader = Grader::new(options)?;
    if let (Some(folder), Some(csv)) = (&options.all, &options.csv) {
        return grade_all(&grader, folder, csv);
    }
    let submission = options.submission.as_deref().context("there is a submission")?;
    ensure!(submission.exists(), "{} does not exist: give a ZIP file or a folder", submission.display());
    let grade = grader.grade(submission)?;
    print(&grade);
    for (file, text) in [(&options.json, grade.to_gradescope()), (&options.junit, grade.to_junit())] {
        if let Some(file) = file {
            write_atomically(file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Grades every submission of a folder, in the order of their names, and writes the table.
fn grade_all(grader: &Grader, folder: &Path, csv: &Path) -> Result<ExitCode> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut submissions = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    submissions.retain(|path| path.is_dir() || path.extension().is_some_and(|extension| extension == "zip"));
    submissions.sort();
    ensure!(!submissions.is_empty(), "{} has no ZIP file and no folder", folder.display());
    let mut table = String::from("submission,points,maximum,findings\n");
    for (index, path) in submissions.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let grade = grader.grade(path)?;
        let (points, maximum) = (grade.points(), grade.maximum());
        note!("[{} of {}] {name}: {points} of {maximum}", index + 1, submissions.len());
        let findings = grade.findings.join("; ").replace('"', "\"\"");
        table.push_str(&format!("\"{}\",{points},{maximum},\"{findings}\"\n", name.replace('"', "\"\"")));
    }
    write_atomically(csv, table.as_bytes()).with_context(|| format!("cannot write {}", csv.display()))?;
    say!("{}: {} submissions", csv.display(), submissions.len());
    Ok(ExitCode::SUCCESS)
}

fn print(grade: &Grade) {
    for Item { name, points, maximum, feedback, .. } in &grade.items {
        let mark = if points == maximum { "[+]" } else { "[-]" };
        say!("{mark} {points:>4} of {maximum:>4}  {name}");
        feedback.lines().for_each(|line| say!("                   {line}"));
    }
    grade.findings.iter().for_each(|finding| say!("[*] to look at: {finding}"));
    say!("{} of {} points", grade.points(), grade.maximum());
}

/// What all submissions share: the compiled dependencies, and the sandbox.
struct Grader {
    target: PathBuf,
    /// One grader at a time compiles there.
    _lock: DirectoryLock,
    seed: u32,
    sandbox: Sandbox,
    /// A folder that no submission may read.
    class: Option<PathBuf>,
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
        let class = options.all.as_deref().map(std::path::absolute).transpose()?;
        Ok(Self { target, _lock: lock, seed: options.seed, sandbox, class })
    }

    /// Grades one submission. Whatever is wrong with it costs points.
    ///
    /// # Errors
    /// If the grader itself fails.
    fn grade(&self, path: &Path) -> Result<Grade> {
        let sources = match submission::read(path) {
            Ok(sources) => sources,
            Err(reason) => {
                let items = TESTS.iter().map(|test| Item::failed(test, "there is no readable submission"));
                return Ok(Grade { items: items.collect(), findings: vec![reason] });
            }
        };
        let folder = tempfile::Builder::new().prefix("grade-").tempdir().context("cannot create a folder")?;
        sandbox::open_to_all(folder.path())?;
        // Always the same, so that what is compiled for one submission makes room for the next.
        let workspace = self.target.join("homework");
        if workspace.exists() {
            std::fs::remove_dir_all(&workspace).with_context(|| format!("cannot remove {}", workspace.display()))?;
        }
        starter::write(&workspace, &Part::ALL, false)?;
        sources.put_into(&workspace)?;
        let mut items = Vec::with_capacity(TESTS.len());
        for part in Part::ALL {
            let tests = || TESTS.iter().filter(|test| test.part == part);
            if !sources.has(part) {
                items.extend(tests().map(|test| Item::failed(test, "the submission does not have this part")));
                continue;
            }
            match self.compiled(&workspace, part, folder.path())? {
                Ok(program) => {
                    for test in tests() {
                        items.push(self.run_test(test, &program, folder.path())?);
                    }
                }
                Err(messages) => items.extend(tests().map(|test| Item::failed(test, &messages))),
            }
        }
        Ok(Grade { items, findings: findings::of(&sources) })
    }

    /// The test program of a part; the inner error has the compiler's messages.
    fn compiled(&self, workspace: &Path, part: Part, folder: &Path) -> Result<Result<PathBuf, String>> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let arguments =
            ["test", "--offline", "--no-run", "--message-format=short", "--test", "public", "-p", part.package()];
        let mut command =
            self.sandbox.compile(Path::new(&cargo), &arguments, [workspace, &self.target], self.class.as_deref());
        command.current_dir(workspace).env("CARGO_TARGET_DIR", &self.target);
        let finished = match crate::child::run(&mut command, COMPILE_LIMIT, part.package(), &folder.join("log"))? {
            Ok(finished) => finished,
            Err(error) => bail!("{error}"),
        };
        if !finished.is_success() {
            let errors: Vec<&str> = finished.stderr.lines().filter(|line| line.contains("error")).take(5).collect();
            let ending = if finished.status.is_none() { "the compiler was stopped" } else { "it does not compile" };
            return Ok(Err(format!("{ending}:\n{}", errors.join("\n"))));
        }
        let executable = finished.stderr.lines().rev().find_map(|line| {
            let path = line.trim().strip_prefix("Executable tests/public.rs (")?.strip_suffix(')')?;
            Some(workspace.join(path))
        });
        let executable = executable.with_context(|| format!("cargo names no test program:\n{}", finished.stderr))?;
        // Another submission's may get the same name.
        let own = folder.join(part.package());
        std::fs::copy(&executable, &own).with_context(|| format!("cannot copy {}", executable.display()))?;
        Ok(Ok(own))
    }

    /// Runs one test in the sandbox.
    fn run_test(&self, test: &Test, program: &Path, folder: &Path) -> Result<Item> {
        let arguments = [test.name, "--exact", "--test-threads=1"];
        let mut command = self.sandbox.run(program, &arguments);
        command.env("HOMEWORK_SEED", self.seed.to_string()).env("RUST_BACKTRACE", "0");
        let finished = match crate::child::run(&mut command, TEST_LIMIT, test.name, &folder.join("log"))? {
            Ok(finished) => finished,
            Err(error) => bail!("{error}"),
        };
        let passed = format!("test {} ... ok", test.name);
        // A program that ends itself has no last line.
        let is_complete = finished.stdout.contains("test result: ok. 1 passed; 0 failed;");
        if finished.is_success() && finished.stdout.lines().any(|line| line == passed) && is_complete {
            return Ok(Item::passed(test));
        }
        Ok(Item::failed(test, &sandbox::feedback(&finished, TEST_LIMIT)))
    }
}
