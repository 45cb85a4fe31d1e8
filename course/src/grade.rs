//! `cargo course grade`: grades submissions of the homework.
//!
//! The sources of a submission go into a clean workspace of `starter` with the given Cargo.toml and
//! programs. Each part becomes a program that calls its functions for the judge, in a sandbox with
//! limits. The judge is a separate process with the tests. It generates the inputs from a seed
//! chosen at grading time, and compares the results.

pub mod answers;
mod class;
mod class_page;
mod findings;
mod kept;
mod lateness;
mod messages;
mod points;
mod products;
mod results;
mod rules;
mod runner;
mod sandbox;
mod sheet;
mod similarity;
mod submission;
mod worksheets;
mod workspace;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::collections::hash_map::{Entry, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use child_process::Finished;
use clap::Args;
use command_line::{note, one_of, say};
use cuda_builder::{Arch, Toolchain, find_toolchain, toolchain_candidates};
use whole_files::{DirectoryLock, require_distinct, write_privately};

use self::kept::Kept;
use self::points::{Program, Test};
use self::products::Products;
use self::results::{Grade, Item};
use self::rules::Rules;
use self::runner::Runner;
use self::sandbox::{COMPILER_MEMORY, Compiler, Sandbox};
use self::similarity::Pair;
use self::submission::{Form, PartFiles};
use self::workspace::Workspace;
use crate::starter::{Assignment, Part};

/// Options of `cargo course grade`.
#[derive(Args)]
pub struct Options {
    /// A submission: a ZIP file, or a folder, with the crates of the homework's workspace
    #[arg(value_name = "SUBMISSION", required_unless_present = "all")]
    submission: Option<PathBuf>,
    /// Grade every file and folder in a folder, except hidden ones
    #[arg(long, value_name = "DIR", conflicts_with = "submission", requires = "csv")]
    all: Option<PathBuf>,
    /// With --all: the table of names and points
    #[arg(long, value_name = "FILE", requires = "all")]
    csv: Option<PathBuf>,
    /// With --all: a folder for each submission's results, NAME.txt for the student and NAME.json
    /// for Gradescope
    #[arg(long, value_name = "DIR", requires = "all")]
    feedback: Option<PathBuf>,
    /// Assignment to grade [default: the assignment of --part, or 1]
    #[arg(long, value_parser = one_of(&Assignment::ALL, Assignment::name, Assignment::description))]
    assignment: Option<Assignment>,
    /// Part of the assignment to grade, out of 100 points [default: all]; may be repeated, or a
    /// comma-separated list
    #[arg(long, value_delimiter = ',', value_parser = one_of(&Part::ALL, Part::name, Part::description))]
    part: Vec<Part>,
    /// With --all: a page about the class: how many submissions pass each test, and which are
    /// similar
    #[arg(long, value_name = "FILE.html", requires = "all")]
    page: Option<PathBuf>,
    /// Tests and their points, a changed copy of course/grading/points.toml to use in its place
    #[arg(long, value_name = "FILE")]
    points: Option<PathBuf>,
    /// Seconds that a test may take, not counting the time it waits for a processor
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600))]
    limit: u64,
    /// Seed of the tests' inputs; the students' own tests use 0 [default: the seed of the results
    /// of --keep, or a random one]
    #[arg(long)]
    seed: Option<u32>,
    /// Also write the results in Gradescope's format
    #[arg(long, value_name = "results.json")]
    json: Option<PathBuf>,
    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Run submissions without a sandbox: they can read and delete your files
    #[arg(long)]
    unsandboxed: bool,
    #[command(flatten)]
    rules: rules::Options,
    #[command(flatten)]
    kept: kept::Options,
    #[command(flatten)]
    worksheets: worksheets::Options,
}

/// Time limit for compiling a submission, and for compiling the given code, which may recompile its
/// dependencies.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);
const COMPILE_LIMIT_OF_GIVEN: Duration = Duration::from_secs(600);

/// Grades one submission, or all submissions in a folder, and prints or writes the results.
///
/// # Errors
/// If the grader itself fails; problems of a submission only cost points.
pub fn run(options: &Options) -> Result<ExitCode> {
    if options.all.is_some() {
        for (option, is_given) in [("--json", options.json.is_some()), ("--junit", options.junit.is_some())] {
            ensure!(!is_given, "{option} is for one submission: with --all, --feedback DIR writes the results of each");
        }
    }
    options.require_other_files()?;
    if let (Some(folder), Some(csv)) = (&options.all, &options.csv) {
        return class::grade(folder, csv, options);
    }
    let submission = options.submission.as_deref().context("there is a submission")?;
    ensure!(submission.exists(), "{} does not exist: give a ZIP file or a folder", submission.display());
    let rules = options.rules()?;
    let grader = Grader::new(options)?;
    let grade = rules.apply(&name_of(submission), grader.grade(submission)?);
    grader.notes().into_iter().chain(grader.like_solutions(submission)?).for_each(|line| note!("{line}"));
    say!("{}", grade.to_text().trim_end());
    for (file, text) in [(&options.json, grade.to_gradescope()), (&options.junit, grade.to_junit())] {
        if let Some(file) = file {
            write_privately(file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Beginning of a reason that is not the submission's fault.
const ERROR_OF_GRADER: &str = "an error of the grader, not of the submission";

/// Returns the result of `run`, or the message of its panic.
fn without_panic<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).map_err(|payload| {
        let message = payload.downcast_ref::<String>().map(String::as_str);
        message.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message").to_owned()
    })
}

/// Name of a submission in tables.
fn name_of(submission: &Path) -> String {
    submission.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Options {
    /// The assignment to grade.
    ///
    /// # Errors
    /// If the parts belong to another assignment, or to several.
    fn assignment(&self) -> Result<Assignment> {
        let of_part = self.part.first().and_then(|&part| Assignment::of(part));
        let assignment = self.assignment.or(of_part).unwrap_or_default();
        if let Some(other) = self.part.iter().find(|part| !assignment.parts().contains(part)) {
            bail!("part {} is not of assignment {}: grade one assignment at a time", other.name(), assignment.name());
        }
        Ok(assignment)
    }

    /// The parts to grade, in the assignment's order.
    fn parts(&self) -> Result<Vec<Part>> {
        let parts = self.assignment()?.parts().iter().copied();
        Ok(parts.filter(|part| self.part.is_empty() || self.part.contains(part)).collect())
    }

    /// Checks that no output file is also an input file.
    fn require_other_files(&self) -> Result<()> {
        let own = [("--csv", &self.csv), ("--page", &self.page), ("--json", &self.json), ("--junit", &self.junit)];
        let own = own.into_iter().filter_map(|(option, file)| Some((option, file.as_deref()?)));
        let outputs: Vec<(&str, &Path)> = own.chain(self.kept.outputs()).collect();
        let mut inputs: Vec<PathBuf> = [&self.submission, &self.points].into_iter().flatten().cloned().collect();
        inputs.extend(self.rules.files().chain(self.worksheets.inputs()).map(Path::to_path_buf));
        // Tables and pages of an earlier run may be among the submissions.
        let entries = self.all.as_deref().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
        inputs.extend(entries.flatten().map(|entry| entry.path()).filter(|path| submission::has_name_of_archive(path)));
        Ok(require_distinct(outputs, &inputs)?)
    }

    /// Returns the seed of the inputs: the given one, the seed of the kept results, or one that no
    /// student knows.
    ///
    /// # Errors
    /// If the kept results cannot be read.
    fn seed(&self) -> Result<u32> {
        let known = self.seed.map_or_else(|| self.kept.seed(), |seed| Ok(Some(seed)))?;
        Ok(known.unwrap_or_else(random_seed))
    }

    fn sandbox(&self) -> Result<Sandbox> {
        if self.unsandboxed {
            return Ok(Sandbox::None);
        }
        Sandbox::bubblewrap().context(
            "submissions run in a sandbox, and bwrap does not work here: `apt-get install bubblewrap`, or add --unsandboxed if you \
             trust them",
        )
    }

    /// The rules that apply in addition to the tests.
    fn rules(&self) -> Result<Rules> {
        let (all, parts) = (points::tests(self.points.as_deref())?, self.parts()?);
        let graded: Vec<Test> = all.iter().filter(|test| parts.contains(&test.part)).cloned().collect();
        self.rules.read(&all, &graded)
    }
}

/// A random number above 0. The students' own tests use seed 0.
fn random_seed() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    // The hasher's keys are random numbers from the system.
    (RandomState::new().hash_one(()) as u32).max(1)
}

/// Everything that the results of a part depend on.
#[derive(PartialEq, Eq, Hash)]
struct GradedPart {
    files: PartFiles,
    form: Form,
}

/// One of the judge's test programs.
struct JudgeProgram {
    part: Part,
    program: Program,
    file: PathBuf,
}

/// PTX of this project's kernels, built from the kernels-gpu of a submission that consists of this
/// project's crates.
const PTX_OF_PROJECT: &str = "kernels-gpu/ptx/kernels_gpu.sm_75.ptx";

/// State shared by all submissions: the compiled dependencies, the judge, and the sandbox.
struct Grader {
    /// Folder in which submissions are compiled.
    target: PathBuf,
    workspace: Workspace,
    /// Files that the compiler may read.
    readable: Vec<PathBuf>,
    /// Files compiled before the first submission; `None` until then.
    products: Option<Products>,
    /// The judge's test programs.
    judge: Vec<JudgeProgram>,
    /// Test programs for submissions of this project's own crates.
    judge_of_project: OnceCell<Vec<JudgeProgram>>,
    /// Only one grader at a time compiles there.
    _lock: DirectoryLock,
    assignment: Assignment,
    /// The parts to grade, in the assignment's order.
    parts: Vec<Part>,
    /// Tests of these parts.
    tests: Vec<Test>,
    seed: u32,
    limit: Duration,
    sandbox: Sandbox,
    compiler: Compiler,
    has_ptx_toolchain: bool,
    has_cores: bool,
    /// Results of parts by their files: many submissions of a class contain a part unchanged.
    graded: RefCell<HashMap<GradedPart, Vec<Item>>>,
    /// Results of earlier gradings.
    kept: Option<Kept>,
}

impl Grader {
    fn new(options: &Options) -> Result<Self> {
        let (assignment, parts) = (options.assignment()?, options.parts()?);
        let mut tests = points::tests(options.points.as_deref())?;
        tests.retain(|test| parts.contains(&test.part));
        ensure!(!tests.is_empty(), "there are no tests of these parts");
        let sandbox = options.sandbox()?;
        let (folder, lock) = locked_folder()?;
        let ptx_toolchain = find_toolchain(&toolchain_candidates(), Arch::Sm75, crate::workspace_root()).ok();
        let compiler = Compiler::find(ptx_toolchain.as_ref())?;
        note!("preparing: compiling the tests and what submissions depend on");
        let workspace = Workspace::create(&folder.join("homework"), assignment.parts())?;
        let target = folder.join("submissions");
        let mut metadata = compiler.trusted();
        set_target(&mut metadata, workspace.folder(), &target);
        let readable = workspace.dependencies(&mut metadata)?;
        let mut build = compiler.trusted();
        set_target(&mut build, workspace.folder(), &target);
        prepared(build.args(arguments_of_build(assignment, ptx_toolchain.as_ref())))?;
        let seed = options.seed()?;
        let settings = format!("{seed} {} {}", options.limit, options.unsandboxed);
        let dependencies: Vec<PathBuf> = readable.iter().cloned().chain(files_of_project()).collect();
        let kept = options.kept.read(&dependencies, seed, &settings, &tests)?;
        let mut grader = Self {
            kept,
            readable,
            products: None,
            judge: compiled_judge(&folder.join("judge"), &folder.join("tests"), assignment.parts(), Form::Starter)?,
            judge_of_project: OnceCell::new(),
            workspace,
            target,
            _lock: lock,
            assignment,
            parts,
            tests,
            seed,
            limit: Duration::from_secs(options.limit),
            sandbox,
            compiler,
            has_ptx_toolchain: ptx_toolchain.is_some(),
            has_cores: std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1),
            graded: RefCell::default(),
        };
        grader.check_sandbox()?;
        grader.products = Some(Products::of(&grader.target)?);
        Ok(grader)
    }

    /// Compiles the given sources the way submissions are compiled, one package at a time, since
    /// the features of dependencies differ between packages. This keeps that time out of the
    /// submissions' time limits.
    ///
    /// # Errors
    /// If the compilation fails: a submission that does not compile would then not be at fault.
    fn check_sandbox(&self) -> Result<()> {
        let folder = tempfile::tempdir().context("cannot create a folder")?;
        let mut packages: Vec<String> = self.parts.iter().map(|&part| workspace::runner(part)).collect();
        for &part in self.parts.iter().filter(|part| self.has_ptx_toolchain && part.kernel().is_some()) {
            self.workspace.put_given_kernel(part)?;
            packages.push(workspace::ptx(part));
        }
        packages.iter().try_for_each(|package| {
            let built = self.build(package, &self.readable, folder.path(), COMPILE_LIMIT_OF_GIVEN);
            built
                .and_then(|built| built.map_err(anyhow::Error::msg))
                .context("nothing is graded, since the homework as it is given cannot be compiled in the sandbox")
        })
    }

    /// Tests that this machine can run.
    fn tests(&self) -> impl Iterator<Item = &Test> {
        let can_run = |test: &&Test| {
            (self.has_ptx_toolchain || test.program != Program::Ptx) && (self.has_cores || !test.is_timed)
        };
        self.tests.iter().filter(can_run)
    }

    /// Lines with the seed, and with the skipped tests for each reason.
    fn notes(&self) -> Vec<String> {
        let left_out = |why: &str, is_left_out: fn(&&Test) -> bool| {
            let items = self.tests.iter().filter(is_left_out).map(Item::passed).collect();
            format!("not graded: tests of {} points, since {why}", self.graded_as(items, Vec::new()).points())
        };
        let mut lines = vec![format!("seed of the inputs: {0} (--seed {0} makes the same)", self.seed)];
        if !self.has_ptx_toolchain && self.tests.iter().any(|test| test.program == Program::Ptx) {
            let why = "there is no toolchain for PTX (cargo xtask doctor)";
            lines.push(left_out(why, |test| test.program == Program::Ptx));
        }
        if !self.has_cores && self.tests.iter().any(|test| test.is_timed) {
            lines.push(left_out("there is only one core", |test| test.is_timed));
        }
        lines
    }

    /// One line about what a submission shares with the published solutions. For a class, the page
    /// shows this.
    fn like_solutions(&self, path: &Path) -> Result<Option<String>> {
        let Ok(sources) = submission::read(path, self.assignment) else { return Ok(None) };
        let published = workspace::published_solutions(&self.parts)?;
        let given = self.workspace.starter_sources();
        let found = similarity::with_solutions(&name_of(path), &sources.files, given, &published);
        Ok(found.map(|Pair { share, places, .. }| {
            let files: BTreeSet<String> = places.iter().map(|[own, _]| own.file.display().to_string()).collect();
            let files: Vec<String> = files.into_iter().collect();
            format!("{:.0} % as in the published solution, to be read by a person: {}", 100.0 * share, files.join(", "))
        }))
    }

    fn graded_as(&self, items: Vec<Item>, findings: Vec<String>) -> Grade {
        let grade = Grade::new(items, self.tests.iter().map(|test| test.points).sum(), findings);
        Grade { seed: Some(self.seed), ..grade }
    }

    /// Like [`Grader::grade`], but returns a row for a failure or panic of the grader too, so the
    /// other submissions still get theirs.
    fn grade_or_error(&self, path: &Path) -> Grade {
        let grade = without_panic(|| self.grade(path)).unwrap_or_else(|message| Err(anyhow!(message)));
        grade.unwrap_or_else(|error| {
            let reason = format!("{ERROR_OF_GRADER}: {error:#}");
            let items = self.tests().map(|test| Item::failed(test, &reason));
            let mut grade = self.graded_as(items.collect(), vec![reason.clone()]);
            grade.is_error_of_grader = true;
            grade
        })
    }

    /// Grades one submission. Problems of the submission cost points.
    ///
    /// # Errors
    /// If the grader itself fails.
    fn grade(&self, path: &Path) -> Result<Grade> {
        let sources = match submission::read(path, self.assignment) {
            Ok(sources) => sources,
            Err(reason) => {
                let items = self.tests().map(|test| Item::failed(test, &reason));
                return Ok(self.graded_as(items.collect(), Vec::new()));
            }
        };
        let mut items = Vec::with_capacity(self.tests.len());
        self.workspace.put(&sources)?;
        self.products.as_ref().map_or(Ok(()), Products::restore)?;
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
            let of_part = match graded.entry(GradedPart { files, form: sources.form }) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(vacant) => {
                    let items = self.recalled_or_graded(part, vacant.key())?;
                    vacant.insert(items)
                }
            };
            items.extend_from_slice(of_part);
        }
        Ok(self.graded_as(items, findings::find(&sources)))
    }

    /// Returns the results of a part of the submission in the workspace: recalls those that are
    /// kept, and computes the others.
    fn recalled_or_graded(&self, part: Part, graded: &GradedPart) -> Result<Vec<Item>> {
        let tests: Vec<&Test> = self.tests().filter(|test| test.part == part).collect();
        let recall = |test: &&Test| self.kept.as_ref()?.recall(test, graded);
        let recalled: Vec<Option<Item>> = tests.iter().map(recall).collect();
        let others = tests.into_iter().zip(&recalled).filter(|(_, item)| item.is_none());
        let others: Vec<&Test> = others.map(|(test, _)| test).collect();
        let mut results = match &others[..] {
            [] => Vec::new(),
            others => self.grade_part(part, graded, others)?,
        }
        .into_iter();
        Ok(recalled.into_iter().filter_map(|item| item.or_else(|| results.next())).collect())
    }

    /// Compiles a part of the submission in the workspace and runs tests of it. The part is in the
    /// starter's form or in the form of this project's own crates.
    fn grade_part(&self, part: Part, graded: &GradedPart, tests: &[&Test]) -> Result<Vec<Item>> {
        let is_of_project = graded.form == Form::Project;
        let folder = tempfile::Builder::new().prefix("grade-").tempdir().context("cannot create a folder")?;
        sandbox::open_to_all(folder.path())?;
        let tests = || tests.iter().copied();
        let runner = workspace::runner(part);
        let mut readable = self.readable.clone();
        if is_of_project {
            readable.extend(files_of_project());
        }
        if let Err(messages) = self.build(&runner, &readable, folder.path(), COMPILE_LIMIT)? {
            let messages = format!("it does not compile:\n{messages}");
            return Ok(tests().map(|test| Item::failed(test, &messages)).collect());
        }
        let program = copied(&self.target.join("debug").join(&runner), folder.path())?;
        // Tests of the source read the PTX too, even if the PTX test itself is recalled.
        let has_ptx = self.tests().any(|test| test.part == part && test.program == Program::Ptx);
        let ptx = match has_ptx {
            true if is_of_project => Ok(Some(crate::workspace_root().join(PTX_OF_PROJECT))),
            true => self.compiled_kernels(part, &graded.files, folder.path())?,
            false => Ok(None),
        };
        let judge = match is_of_project && workspace::kernels(part).is_some() {
            true => self.judge_of_project()?,
            false => &self.judge,
        };
        let mut items = Vec::new();
        for test in tests() {
            items.push(match (&ptx, test.program) {
                (Err(messages), Program::Ptx) => Item::failed(test, messages),
                (ptx, _) => {
                    let ptx = ptx.as_ref().ok().and_then(Option::as_deref);
                    self.run_test(test, judge, &program, ptx, folder.path())?
                }
            });
        }
        Ok(items)
    }

    /// Returns the PTX of a part's kernels; the inner error contains the compiler's messages.
    fn compiled_kernels(
        &self,
        part: Part,
        files: &PartFiles,
        folder: &Path,
    ) -> Result<Result<Option<PathBuf>, String>> {
        if let Err(message) = self.workspace.put_kernels(part, files)? {
            return Ok(Err(message));
        }
        Ok(match self.build(&workspace::ptx(part), &self.readable, folder, COMPILE_LIMIT)? {
            Ok(()) => Ok(Some(copied(&self.target.join(format!("{}.ptx", part.package())), folder)?)),
            Err(messages) => {
                Err(format!("the kernels, with the files that they use, do not compile to PTX:\n{messages}"))
            }
        })
    }

    /// Returns the test programs for this project's own crates, and compiles them for the first
    /// submission that needs them.
    fn judge_of_project(&self) -> Result<&[JudgeProgram]> {
        if let Some(judge) = self.judge_of_project.get() {
            return Ok(judge);
        }
        let folder = crate::workspace_root().join("target/grade");
        let parts = [Part::Two, Part::Three];
        let judge =
            compiled_judge(&folder.join("judge_of_project"), &folder.join("tests_of_project"), &parts, Form::Project)?;
        Ok(self.judge_of_project.get_or_init(|| judge))
    }

    /// Compiles a package of the submissions' workspace; the inner error contains the compiler's
    /// messages.
    fn build(&self, package: &str, readable: &[PathBuf], folder: &Path, limit: Duration) -> Result<Result<(), String>> {
        let arguments = ["build", "--offline", "--message-format=short", "-p", package];
        let (workspace, target) = (self.workspace.folder(), &*self.target);
        let variables = variables_of(target);
        let mut command = self.sandbox.compile(&self.compiler, &arguments, [workspace, target], readable, &variables);
        let (clock, log) = (child_process::own_time(), folder.join("log"));
        let finished = match child_process::run_by(&clock, &mut command, limit, package, &log)? {
            Ok(finished) => finished,
            Err(error) => bail!("{error}"),
        };
        sandbox::require_own_end(&finished)?;
        Ok(match finished.status {
            Some(status) if status.success() => Ok(()),
            Some(_) => {
                let messages = &finished.stderr;
                // The kernel kills processes when this machine runs out of memory. A limit of the
                // sandbox does not kill them.
                let is_stopped = |line: &str| {
                    line.starts_with("  process didn't exit successfully: ")
                        && line.ends_with("(signal: 9, SIGKILL: kill)")
                };
                ensure!(
                    !messages.lines().any(is_stopped),
                    "the system has stopped the compiler: is there enough memory?"
                );
                match limit_in(messages) {
                    Some(reason) => Err(reason),
                    None => Err(messages::errors_in(messages, package, workspace)),
                }
            }
            None => Err(format!("the compiler was stopped after {} s", limit.as_secs())),
        })
    }

    /// Runs one test: starts the judge, and the submission's program in the sandbox.
    fn run_test(
        &self,
        test: &Test,
        judge: &[JudgeProgram],
        program: &Path,
        ptx: Option<&Path>,
        folder: &Path,
    ) -> Result<Item> {
        let judge = judge.iter().find(|judge| (judge.part, judge.program) == (test.part, test.program));
        // The test may run as another user, who cannot enter the project's folder.
        let file = copied_once(&judge.context("every part has its tests")?.file, folder)?;
        let mut runner = Runner::new(&self.sandbox, test.program, program, folder)?;
        let mut variables =
            vec![("HOMEWORK_SEED", self.seed.to_string().into()), ("HOMEWORK_PRINTED", runner.printed())];
        variables.extend(ptx.map(|ptx| ("HOMEWORK_PTX", ptx.as_os_str().to_owned())));
        let files: Vec<&Path> = ptx.into_iter().chain([&*runner.printed]).collect();
        let mut command = self.sandbox.judge(&file, &files, &variables);
        command.args([&*test.name, "--exact", "--test-threads=1"]);
        let (clock, log, input) = (child_process::own_time(), folder.join("log"), runner.channel());
        let ran = child_process::run_with_input(&clock, &mut command, input, self.limit, &test.name, &log)?;
        // Closes the other end of the socket.
        drop(command);
        let finished = match ran {
            Ok(finished) => finished,
            Err(error) => bail!("{error}"),
        };
        if has_passed(&finished, &test.name)? {
            return Ok(Item::passed(test));
        }
        let mut feedback = sandbox::feedback(&finished, self.limit);
        if feedback.contains(runner::NO_RESULT) {
            self.sandbox.check()?;
            feedback = feedback.replace(runner::NO_RESULT, &format!("{}{}", runner::NO_RESULT, runner.ending()?));
        } else if feedback.contains("without a result") {
            self.sandbox.check()?;
        }
        Ok(Item::failed(test, &feedback))
    }
}

/// Returns whether the judge's only test has passed.
///
/// # Errors
/// If the test has not run, or if something else has ended the judge.
fn has_passed(judge: &Finished, test: &str) -> Result<bool> {
    let passed = format!("test {test} ... ok");
    let is_complete = judge.stdout.contains("test result: ok. 1 passed; 0 failed;");
    if judge.is_success() && judge.stdout.lines().any(|line| line == passed) && is_complete {
        return Ok(true);
    }
    ensure!(!judge.is_success(), "the judge has not run {test}");
    sandbox::require_own_end(judge)?;
    Ok(false)
}

/// Additional files for compiling submissions in the form of this project's crates: the kernels,
/// the code shared by programs, and the lock file, because the fingerprint of kernels-gpu's PTX
/// includes it.
fn files_of_project() -> impl Iterator<Item = PathBuf> {
    let files = submission::KERNELS.into_iter().chain(workspace::OF_PROGRAMS).chain(["Cargo.lock"]);
    files.map(|file| crate::workspace_root().join(file))
}

/// Returns the reason if the compiler has reached a limit of the sandbox.
fn limit_in(messages: &str) -> Option<String> {
    let has = |part: &str| messages.contains(part);
    if has("memory allocation of") || has("LLVM ERROR: out of memory") || has("Cannot allocate memory") {
        return Some(format!("the compiler needs more than {} GiB of memory", COMPILER_MEMORY >> 30));
    }
    has("SIGXFSZ").then(|| "what the compiler writes is too large".to_owned())
}

/// Copies a file. A later submission's file may have the same name.
fn copied(file: &Path, folder: &Path) -> Result<PathBuf> {
    let own = folder.join(file.file_name().unwrap_or_default());
    std::fs::copy(file, &own).with_context(|| format!("cannot copy {}", file.display()))?;
    Ok(own)
}

/// Like [`copied`], but only if the copy does not exist.
fn copied_once(file: &Path, folder: &Path) -> Result<PathBuf> {
    let own = folder.join(file.file_name().unwrap_or_default());
    if own.exists() { Ok(own) } else { copied(file, folder) }
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn command(workspace: &Path, target: &Path) -> Command {
    let mut command = Command::new(cargo());
    set_target(&mut command, workspace, target);
    command
}

fn set_target(command: &mut Command, workspace: &Path, target: &Path) {
    command.current_dir(workspace).envs(variables_of(target));
}

fn variables_of(target: &Path) -> [(&'static str, OsString); 4] {
    let target = || target.as_os_str().to_owned();
    // Without a toolchain there are no PTX tests, so a toolchain that disappears later is an error.
    // Incremental compilation is off: it would keep data of a submission for the next one.
    [
        ("CARGO_TARGET_DIR", target()),
        ("GRADE_TARGET", target()),
        ("PTX_STRICT", "1".into()),
        ("CARGO_INCREMENTAL", "0".into()),
    ]
}

/// Locks and returns the grader's folder, in which only one grader at a time works. The sandbox
/// needs a path without symbolic links.
fn locked_folder() -> Result<(PathBuf, DirectoryLock)> {
    let folder = crate::workspace_root().join("target/grade");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let lock = DirectoryLock::acquire(&folder)?;
    let folder = folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
    Ok((folder, lock))
}

/// Cargo arguments for compiling the dependencies of submissions. Kernels are included only if
/// there is a PTX toolchain.
fn arguments_of_build(assignment: Assignment, ptx: Option<&Toolchain>) -> Vec<&'static str> {
    let mut arguments = vec!["build", "--quiet", "--locked", "--workspace", "--bins"];
    if ptx.is_some() && assignment.parts().iter().any(|part| part.kernel().is_some()) {
        // The packages of the kernels are libraries.
        arguments.push("--lib");
    }
    // The programs are given and not compiled.
    arguments.extend(assignment.parts().iter().flat_map(|part| ["--exclude", part.package()]));
    if ptx.is_none() {
        arguments.extend(["--exclude", "*_ptx"]);
    }
    arguments
}

/// Downloads and compiles the dependencies of a workspace: submissions are compiled without network
/// access.
fn prepared(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot start cargo")?;
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "the grader's workspaces do not compile: {}", messages.trim_end());
    Ok(messages)
}

/// Writes the judge's workspace and compiles its test programs.
fn compiled_judge(workspace: &Path, target: &Path, parts: &[Part], form: Form) -> Result<Vec<JudgeProgram>> {
    workspace::create_judge(workspace, parts, form)?;
    workspace::pinned_packages(&mut command(workspace, target), workspace)?;
    let mut programs = Vec::new();
    for &part in parts {
        let tests = [(Program::Source, "public"), (Program::Ptx, "ptx")];
        let tests =
            tests.into_iter().filter(|(program, _)| *program == Program::Source || workspace::kernels(part).is_some());
        for (program, test) in tests {
            let mut command = command(workspace, target);
            command.args(["test", "--locked", "--no-run", "--test", test, "-p", &workspace::judge(part)]);
            let messages = prepared(&mut command)?;
            let executable = messages.lines().rev().find_map(|line| {
                let path = line.trim().strip_prefix("Executable tests/")?.split_once(" (")?.1.strip_suffix(')')?;
                Some(workspace.join(path))
            });
            let file = executable.with_context(|| format!("cargo names no test program:\n{messages}"))?;
            programs.push(JudgeProgram { part, program, file });
        }
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// clap checks this if debug assertions are on.
    #[test]
    fn grade_has_no_two_options_of_one_name() {
        let command = Options::augment_args(clap::Command::new("grade"));
        let mut names = BTreeSet::new();
        for option in command.get_arguments() {
            assert!(names.insert(option.get_id().to_string()), "{}", option.get_id());
        }
        assert!(names.contains("canvas_assignment") && names.contains("assignment"), "{names:?}");
    }

    fn options_of(arguments: &[&str]) -> Options {
        let command = Options::augment_args(clap::Command::new("grade"));
        let matches = command.try_get_matches_from([&["grade"], arguments].concat()).unwrap();
        <Options as clap::FromArgMatches>::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn grade_writes_to_no_file_that_it_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for name in ["ada.zip", "grades.csv", "points.toml"] {
            std::fs::write(path(name), "text").unwrap();
        }
        std::fs::hard_link(path("ada.zip"), path("ada.json")).unwrap();
        let (all, one) = (folder.path().to_str().unwrap(), path("ada.zip"));
        for (arguments, option) in [
            (vec![&*one, "--json", &path("ada.json")], "--json"),
            (vec![&one, "--points", &path("points.toml"), "--junit", &path("points.toml")], "--junit"),
            (vec!["--all", all, "--csv", &one], "--csv"),
            (vec!["--all", all, "--csv", &path("new.csv"), "--page", &one], "--page"),
        ] {
            let error = options_of(&arguments).require_other_files().unwrap_err().to_string();
            assert!(error.starts_with(option) && error.contains(", which is read: choose another place"), "{error}");
        }
        // The table of an earlier run is overwritten.
        options_of(&["--all", all, "--csv", &path("grades.csv")]).require_other_files().unwrap();
    }

    #[test]
    fn grade_draws_a_seed_unless_one_is_given() {
        let seed = |arguments: &[&str]| options_of(&[&["homework.zip"], arguments].concat()).seed().unwrap();
        assert_eq!(seed(&["--seed", "4711"]), 4711);
        let drawn: BTreeSet<u32> = (0..8).map(|_| seed(&[])).collect();
        assert!(drawn.len() > 1 && !drawn.contains(&0), "{drawn:?}");
    }

    #[test]
    fn grade_takes_no_test_for_passed_that_has_not_run() {
        use std::os::unix::process::ExitStatusExt;
        let passed = |code: Option<i32>, stdout: &str| {
            let status = code.map(|code| std::process::ExitStatus::from_raw(code << 8));
            let (stdout, stderr) = (stdout.to_owned(), String::new());
            has_passed(&Finished { status, elapsed: Duration::ZERO, stdout, stderr }, "a")
                .map_err(|error| error.to_string())
        };
        let one = "\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        let none = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 9 filtered out\n";
        assert_eq!(passed(Some(0), one), Ok(true));
        assert_eq!(passed(Some(101), one), Ok(false));
        // Stopped at the time limit, like a test that sleeps.
        assert_eq!(passed(None, one), Ok(false));
        let other = one.replace("test a ", "test b ");
        for stdout in [none, &other, ""] {
            assert_eq!(passed(Some(0), stdout), Err("the judge has not run a".to_owned()), "{stdout}");
        }
        assert!(passed(Some(1), one).is_err());
    }

    #[test]
    fn grade_makes_a_panic_an_error_of_one_submission() {
        assert_eq!(without_panic(|| 1), Ok(1));
        assert_eq!(without_panic(|| -> u32 { panic!("entry {}", 7) }), Err("entry 7".to_owned()));
    }

    #[test]
    fn grade_names_the_limit_that_a_compilation_has_reached() {
        for (messages, expected) in [
            ("memory allocation of 8589934592 bytes failed", Some("the compiler needs more than 4 GiB of memory")),
            ("  (signal: 25, SIGXFSZ: file size limit exceeded)", Some("what the compiler writes is too large")),
            ("error[E0308]: mismatched types", None),
        ] {
            assert_eq!(limit_in(messages).as_deref(), expected);
        }
    }

    #[test]
    fn grade_takes_parts_of_one_assignment() {
        let parts = |arguments: &[&str]| {
            options_of(&[&["homework.zip"], arguments].concat()).parts().map_err(|error| error.to_string())
        };
        assert_eq!(parts(&[]).unwrap(), Assignment::One.parts());
        assert_eq!(parts(&["--assignment", "2"]).unwrap(), [Part::Augmentation, Part::Filters]);
        assert_eq!(parts(&["--part", "filters"]).unwrap(), [Part::Filters]);
        assert_eq!(parts(&["--assignment", "1", "--part", "activation,2"]).unwrap(), [Part::Two, Part::Activation]);
        let message = "part 1 is not of assignment 2: grade one assignment at a time";
        assert_eq!(parts(&["--assignment", "2", "--part", "1"]).unwrap_err(), message);
        assert_eq!(parts(&["--part", "filters,1"]).unwrap_err(), message);
    }
}
