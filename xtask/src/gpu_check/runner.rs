//! Runs the items in the folder, one after another.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use command_line::CHECK_FAILED;
use command_line::say;
use serde_json::{Map, Value, json};

use super::machine::{self, Machine};
use super::plan::{self, ITEM_LIMIT, Item, Run, SWEEP, Sanitized, Test};
use super::python::{self, Script};
use super::results::{Kept, Outcome, Results, RunFacts};
use super::{folder, mnist, nsight, ratios, show};
use crate::capture::last_line;
use child_process::Finished;

/// Minimum time limit of an item.
const LEAST: Duration = Duration::from_secs(1);
/// Time limit of a run under Nsight Compute or the sanitizer. Both make kernels many times slower.
const TOOL_LIMIT: Duration = Duration::from_secs(100);
/// The reason for a missing result of an item that the deadline ended.
const CUT: &str = "the deadline was reached";
/// What compute-sanitizer prints if it cannot watch the GPU, as in some sandboxes.
const REFUSAL: &str = "Device not supported";
/// Exit code of compute-sanitizer for a finding, passed to it as an option.
const FOUND: &str = "9";

/// Runs all items, or those missing in the folder's results, until `within` has elapsed.
///
/// # Errors
/// If the folder cannot be written to, or if there are no results for this folder and GPU to
/// resume.
pub(super) fn run(within: Option<Duration>, resume: bool) -> Result<ExitCode> {
    let folder = std::env::current_exe()?.parent().context("the program has a folder")?.to_path_buf();
    let start = Instant::now();
    let made = folder::made(&folder)?;
    let gpu = machine::gpu(&folder.join(format!("max_functions{EXE_SUFFIX}")));
    let fresh = Results::new(gpu, Machine::this(), made);
    let kept = if resume { Kept::resume(&folder, &fresh)? } else { Kept::begin(&folder, fresh)? };
    let mut runner = Runner::new(folder, kept, start);
    if runner.is_emulated {
        runner.mnist = Some(mnist::few(&runner.folder)?);
    }
    runner.all(&plan::items(), within)?;
    let results = &runner.kept.results;
    say!("\n{}", show::text(results).trim_end());
    Ok(if results.all_passed && results.not_run.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// Runs items and stores their results.
struct Runner {
    folder: PathBuf,
    kept: Kept,
    /// Upper limit for every item's time limit.
    max_limit: Duration,
    /// The end of the run, on the clock.
    deadline: Duration,
    /// Time since the program's start. Tests use a clock that their scripts advance.
    clock: Box<dyn Fn() -> Duration>,
    /// Whether the deadline has ended one of the item's processes.
    is_cut: bool,
    mnist: Option<PathBuf>,
    /// Whether the driver is the emulator. All items then run at small sizes.
    is_emulated: bool,
}

/// The part of the results that holds an item's JSON.
type Section = fn(&mut Results) -> &mut Map<String, Value>;

/// A process that ended, or the reason why it was not started.
type Ended = Result<Finished, Outcome>;

impl Runner {
    fn new(folder: PathBuf, kept: Kept, start: Instant) -> Self {
        let mnist = mnist::directory(&folder);
        let is_emulated = kept.results.is_emulated();
        let clock = Box::new(move || start.elapsed());
        Self {
            folder,
            kept,
            max_limit: Duration::MAX,
            deadline: Duration::MAX,
            clock,
            is_cut: false,
            mnist,
            is_emulated,
        }
    }

    /// Runs the items missing in the results and prints a line for each, until `within` has elapsed
    /// since the program's start.
    fn all(&mut self, items: &[Item], within: Option<Duration>) -> Result<()> {
        self.deadline = within.unwrap_or(Duration::MAX);
        let start = (self.clock)();
        let before = machine::clocks();
        // The log keeps nvidia-smi's output.
        let _smi = self.process("nvidia-smi", &mut Command::new("nvidia-smi"), Duration::from_secs(10))?;
        for item in items {
            let name = item.name();
            if !self.kept.results.not_run.contains(&name) {
                continue;
            }
            if self.left() < LEAST {
                break;
            }
            self.is_cut = false;
            let ending = self.item(*item)?;
            // Items that the deadline has ended run again. Measurements that a script had completed
            // are kept.
            if !self.is_cut {
                self.kept.results.not_run.retain(|other| *other != name);
            }
            say!("{} {name} {ending} ({:.0} s)", ending.sign(), (self.clock)().as_secs_f64());
            self.compare()?;
        }
        let seconds = ((self.clock)() - start).as_secs_f64();
        let within = within.map(|within| within.as_secs_f64());
        self.kept.results.runs.push(RunFacts { within, seconds, before, after: machine::clocks() });
        self.kept.write()
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_sub((self.clock)())
    }

    /// Runs an item, stores its result, and returns its outcome.
    fn item(&mut self, item: Item) -> Result<Outcome> {
        let name = item.name();
        let start = (self.clock)();
        let (section, key, value): (Section, &str, Value) = match item {
            Item::Test(test) => {
                let outcome = self.test(&name, test)?;
                self.kept.results.tests.insert(test.program.to_owned(), outcome.clone());
                return Ok(outcome);
            }
            Item::Sanitized(sanitized) => {
                let outcome = self.sanitized(&name, sanitized)?;
                self.kept.results.sanitizer.insert(name, outcome.clone());
                return Ok(outcome);
            }
            Item::Start(run) => (|results| &mut results.starts, run.name, self.start(&name, run)?),
            Item::Sweep(part) => (|results| &mut results.sweep, part, self.sweep(&name, part)?),
            Item::Program(run) => (|results| &mut results.programs, run.name, self.timed(&name, run)?),
            Item::Peers(script) => (|results| &mut results.peers, script.name, self.peers(&name, script)?),
            Item::Counted(run) => (|results| &mut results.counters, run.name, self.counted(&name, run)?),
        };
        let ending = Outcome::of_value(&value, ((self.clock)() - start).as_secs_f64());
        section(&mut self.kept.results).insert(key.to_owned(), value);
        Ok(ending)
    }

    /// The path of a program in the folder.
    fn program(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{EXE_SUFFIX}"))
    }

    /// A command for a program in the folder, on the GPU and with JSON output.
    fn on_gpu(&self, run: &Run) -> Command {
        let mut command = Command::new(self.program(run.executable));
        command.args(run.arguments(self.is_emulated)).args(["--device", "cuda", "--json"]);
        command
    }

    /// Times two starts of a program, in seconds.
    fn start(&mut self, name: &str, run: &Run) -> Result<Value> {
        let mut seconds = Vec::new();
        for _ in 0..2 {
            let start = Instant::now();
            let value = self.json(name, &mut self.on_gpu(run), ITEM_LIMIT)?;
            seconds.push(start.elapsed().as_secs_f64());
            if show::problem(&value).is_some() {
                return Ok(value);
            }
        }
        Ok(json!({ "seconds": seconds }))
    }

    fn sweep(&mut self, name: &str, part: &str) -> Result<Value> {
        let mut command = Command::new(self.program(SWEEP));
        command.args([part, "--device", "cuda", "--json"]);
        if self.is_emulated {
            command.args(["--repeats", "1", "--steps", "1"]);
        }
        self.json(name, &mut command, ITEM_LIMIT)
    }

    /// Runs a program and keeps its times.
    fn timed(&mut self, name: &str, run: &Run) -> Result<Value> {
        let mut value = self.json(name, &mut self.on_gpu(run), ITEM_LIMIT)?;
        if value.get("dataset").is_some() {
            // The program takes the built-in digits' files for MNIST's.
            let images = if self.is_emulated { mnist::FEW } else { &self.kept.results.made.images };
            value["dataset"] = images.into();
        }
        Ok(value)
    }

    /// Profiles a kernel with Nsight Compute.
    fn counted(&mut self, name: &str, run: &Run) -> Result<Value> {
        let Some(ncu) = nsight::find("ncu") else {
            return Ok(json!({ "skipped": "ncu, of Nsight Compute, is not installed" }));
        };
        let mut command = Command::new(ncu);
        // The second launch, since the first one loads the kernel. The GPU's own clock is kept:
        // times and cycles then agree.
        command.args(["--clock-control", "none", "--set", "full", "-k", run.name, "-s", "1", "-c", "1"]);
        command.arg(self.program(run.executable)).args(run.arguments(self.is_emulated)).args(["--device", "cuda"]);
        Ok(match self.process(name, &mut command, TOOL_LIMIT)? {
            Ok(finished) => nsight::value(&finished),
            Err(outcome) => outcome_as_json(&outcome),
        })
    }

    /// Checks a program with the sanitizer.
    fn sanitized(&mut self, name: &str, sanitized: &Sanitized) -> Result<Outcome> {
        let Some(sanitizer) = nsight::find("compute-sanitizer") else {
            return Ok(Outcome::Skipped { reason: "compute-sanitizer is not installed".to_owned() });
        };
        let mut command = Command::new(sanitizer);
        // Driver errors that the program handles are not findings.
        command.args(["--tool", sanitized.tool, "--error-exitcode", FOUND, "--report-api-errors", "no"]);
        command.args(["--print-limit", "20"]);
        command.arg(self.program(sanitized.executable)).args(sanitized.arguments(self.is_emulated));
        self.watched(name, command.env("GPU_TESTS", "require").env("GPU_MEMORY_POOL", "off"))
    }

    /// Runs a command with the sanitizer. It passes if its program does and the tool finds nothing.
    fn watched(&mut self, name: &str, command: &mut Command) -> Result<Outcome> {
        let finished = match self.process(name, command, TOOL_LIMIT)? {
            Ok(finished) => finished,
            Err(outcome) => return Ok(outcome),
        };
        let seconds = finished.elapsed.as_secs_f64();
        let mut lines = lines_of(&finished);
        if let Some(refusal) = lines.clone().find(|line| line.contains(REFUSAL)) {
            return Ok(Outcome::Skipped { reason: refusal.trim_start_matches('=').trim().to_owned() });
        }
        if finished.is_success() {
            return Ok(Outcome::Passed { seconds });
        }
        let finding = lines.find(|line| line.starts_with("========= ") && !line.contains("COMPUTE-SANITIZER"));
        let finding = finding.map(|line| line.trim_start_matches('=').trim());
        Ok(Outcome::Failed { seconds, reason: with_reason(&finished, finding.or_else(|| reason_of(&finished))) })
    }

    fn peers(&mut self, name: &str, script: &Script) -> Result<Value> {
        let mut command = script.command(&self.folder.join(python::FOLDER));
        let ended = self.process_or_part(name, &mut command, script.limit)?;
        Ok(python::value(script, ended.map_err(|outcome| outcome.to_string())))
    }

    /// Compares our times with the peers', and writes the results.
    fn compare(&mut self) -> Result<()> {
        let rows = ratios::rows(&self.kept.results);
        self.kept.results.ratios = rows.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        self.kept.write()
    }

    /// Runs a test program that must use the GPU. A skipped test, or a filter that selects no
    /// tests, is a failure.
    fn test(&mut self, name: &str, test: &Test) -> Result<Outcome> {
        let Some(arguments) = test.arguments_on(self.is_emulated) else {
            return Ok(Outcome::Skipped { reason: "the emulated driver needs a minute or more for it".to_owned() });
        };
        let mut command = Command::new(self.program(&test.executable()));
        let finished = match self.process(name, command.args(arguments).env("GPU_TESTS", "require"), test.limit)? {
            Ok(finished) => finished,
            Err(outcome) => return Ok(outcome),
        };
        let seconds = finished.elapsed.as_secs_f64();
        if !finished.is_success() {
            return Ok(Outcome::Failed { seconds, reason: with_reason(&finished, reason_of(&finished)) });
        }
        let result = lines_of(&finished).find_map(|line| line.strip_prefix("test result: ok. "));
        let ran = result.is_some_and(|counts| !counts.starts_with("0 passed"));
        Ok(if ran {
            Outcome::Passed { seconds }
        } else {
            Outcome::Failed { seconds, reason: "no test ran".to_owned() }
        })
    }

    /// Runs a program that prints a JSON object.
    fn json(&mut self, name: &str, command: &mut Command, limit: Duration) -> Result<Value> {
        Ok(match self.process(name, command, limit)? {
            Err(outcome) => outcome_as_json(&outcome),
            Ok(finished) if !finished.is_success() => {
                json!({ "failed": with_reason(&finished, last_line(&finished.stderr)) })
            }
            Ok(finished) => match serde_json::from_str::<Value>(&finished.stdout) {
                Ok(value) if value.is_object() => value,
                Ok(_) => json!({ "failed": "it printed JSON that is no object" }),
                Err(error) => json!({ "failed": format!("it did not print its JSON object: {error}") }),
            },
        })
    }

    /// Runs a process within its limit and the deadline. A process that the deadline ends counts as
    /// skipped.
    ///
    /// # Errors
    /// If its output cannot be written.
    fn process(&mut self, name: &str, command: &mut Command, limit: Duration) -> Result<Ended> {
        let ended = self.process_or_part(name, command, limit)?;
        Ok(match self.is_cut {
            true => Err(Outcome::Skipped { reason: CUT.to_owned() }),
            false => ended,
        })
    }

    /// Runs a process like [`process`](Self::process), but returns the output up to the deadline.
    fn process_or_part(&mut self, name: &str, command: &mut Command, limit: Duration) -> Result<Ended> {
        command.env("RUST_BACKTRACE", "0");
        command.envs(self.mnist.iter().map(|directory| ("MNIST_DIR", directory)));
        let (limit, left) = (limit.min(self.max_limit), self.left());
        if left < LEAST {
            self.is_cut = true;
            return Ok(Err(Outcome::Skipped { reason: CUT.to_owned() }));
        }
        let finished = child_process::run_by(&*self.clock, command, limit.min(left), name, &self.kept.log())?;
        let is_killed = finished.as_ref().is_ok_and(|finished| finished.status.is_none());
        self.is_cut |= is_killed && left < limit;
        Ok(finished.map_err(|reason| Outcome::Failed { seconds: 0.0, reason }))
    }
}

/// The lines of a child's output.
fn lines_of(finished: &Finished) -> impl Iterator<Item = &str> + Clone {
    finished.stdout.lines().chain(finished.stderr.lines())
}

/// Why a child failed: the line after "thread … panicked at …", otherwise its last line.
fn reason_of(finished: &Finished) -> Option<&str> {
    let below_panic = lines_of(finished).skip_while(|line| !line.contains("panicked at")).nth(1);
    below_panic.or_else(|| last_line(&finished.stderr))
}

/// How a child ended, with the line that explains it.
fn with_reason(finished: &Finished, reason: Option<&str>) -> String {
    let ending = finished.ending();
    reason.map_or_else(|| ending.clone(), |reason| format!("{ending}: {}", reason.trim()))
}

fn outcome_as_json(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Skipped { reason } => json!({ "skipped": reason }),
        failed => json!({ "failed": failed.to_string() }),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::gpu_check::plan::TESTS;
    use crate::gpu_check::results::{FILE, Made};

    /// Writes an executable script with a shell. A process that another test starts at the same
    /// time inherits the descriptors of files that this process writes, and Linux does not execute
    /// a file that is open for writing.
    fn script(folder: &Path, name: &str, text: &str) {
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 755 "$2""#;
        let status = Command::new("sh").args(["-c", write, "sh", text]).arg(folder.join(name)).status().unwrap();
        assert!(status.success(), "{name}: {status}");
    }

    /// A script that does not end. It advances the clock of [`runner`] by [`LIMIT`].
    const ENDLESS: &str = r#"echo >> "$(dirname "$0")/moved"; exec sleep 600"#;

    /// The time limit of an item.
    const LIMIT: Duration = Duration::from_secs(60);

    /// A folder with passing items, except for one test program that hangs, one that crashes, one
    /// with skipped tests, one that is missing, and programs that hang, crash and print garbage.
    fn rehearsal(folder: &Path) {
        for test in &TESTS {
            script(
                folder,
                &test.executable(),
                "test \"$GPU_TESTS\" = require && echo 'test result: ok. 2 passed; 0 failed'",
            );
        }
        script(folder, &TESTS[1].executable(), ENDLESS);
        script(
            folder,
            &TESTS[2].executable(),
            "echo \"thread 'a' panicked at b.rs:1:\" >&2; echo no GPU >&2; kill -SEGV $$",
        );
        script(folder, &TESTS[3].executable(), "echo 'test result: ok. 0 passed; 0 failed'");
        fs::remove_file(folder.join(TESTS[4].executable())).unwrap();
        script(folder, "neural-net", "echo '{\"dataset\": \"MNIST\", \"epochs\": []}'");
        script(folder, "matmul_functions", ENDLESS);
        script(folder, "max_functions", "echo the driver is lost >&2; exit 2");
        script(folder, "activation_functions", "echo garbage");
        script(folder, SWEEP, "test $1 = steps || { echo '{\"seconds\": {}}'; exit; }; kill -ABRT $$");
    }

    fn fresh() -> Results {
        let made = Made { images: "built-in digits".to_owned(), ..Made::default() };
        Results::new("a GPU".to_owned(), Machine::default(), made)
    }

    /// A runner with a clock that only [`ENDLESS`] scripts advance.
    fn runner(folder: &Path, kept: Kept) -> Runner {
        let moved = folder.join("moved");
        let clock = move || LIMIT * fs::read(&moved).map_or(0, |lines| u32::try_from(lines.len()).unwrap());
        Runner { max_limit: LIMIT, clock: Box::new(clock), ..Runner::new(folder.to_path_buf(), kept, Instant::now()) }
    }

    /// Only the items of the folder's programs.
    fn of_programs() -> Vec<Item> {
        let is_of_tool = |item: &Item| matches!(item, Item::Peers(_) | Item::Counted(_) | Item::Sanitized(_));
        plan::items().into_iter().filter(|item| !is_of_tool(item)).collect()
    }

    #[test]
    fn gpu_check_survives_what_hangs_crashes_and_prints_garbage() {
        let folder = tempfile::tempdir().unwrap();
        rehearsal(folder.path());
        runner(folder.path(), Kept::begin(folder.path(), fresh()).unwrap()).all(&of_programs(), None).unwrap();
        let results = Results::read(&folder.path().join(FILE)).unwrap();
        let of_tools = plan::items().len() - of_programs().len();
        assert_eq!((results.all_passed, results.runs.len(), results.not_run.len()), (false, 1, of_tools));
        let reason = |index: usize| match &results.tests[TESTS[index].program] {
            Outcome::Failed { reason, .. } => reason.clone(),
            other => other.to_string(),
        };
        assert!(reason(0).starts_with("passed"), "{}", reason(0));
        assert!(reason(1).starts_with("killed at its time limit, after 60 s"), "{}", reason(1));
        assert!(reason(2).contains("signal: 11") && reason(2).ends_with("no GPU"), "{}", reason(2));
        assert_eq!(reason(3), "no test ran");
        assert!(reason(4).starts_with("cannot start"), "{}", reason(4));
        assert!(reason(5).starts_with("passed"), "{}", reason(5));
        let program = |name: &str| results.programs[name].clone();
        assert_eq!(program("network")["dataset"], "built-in digits");
        assert!(program("matmul_f32")["failed"].as_str().unwrap().starts_with("killed at its time limit"));
        assert_eq!(program("max")["failed"], "exit status: 2: the driver is lost");
        assert!(program("activation")["failed"].as_str().unwrap().starts_with("it did not print its JSON object"));
        assert!(results.sweep["latency"].get("failed").is_none() && results.sweep["steps"].get("failed").is_some());
        assert_eq!(results.starts["max_functions"]["failed"], "exit status: 2: the driver is lost");
        assert_eq!(results.starts[SWEEP]["seconds"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn gpu_check_keeps_what_was_measured_before_its_deadline_and_resumes_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        rehearsal(path);
        // The first test program that hangs is killed at its own limit, after 60 s. The deadline
        // ends the second one.
        let kept = Kept::begin(path, fresh()).unwrap();
        runner(path, kept).all(&of_programs(), Some(LIMIT * 3 / 2)).unwrap();
        let first = Results::read(&path.join(FILE)).unwrap();
        assert_eq!(first.runs.len(), 1);
        assert!(first.tests[TESTS[0].program].to_string().starts_with("passed"));
        assert!(first.tests[TESTS[1].program].is_failure());
        assert!(first.sweep.contains_key("latency") && first.sweep.contains_key("steps"));
        assert_eq!(first.programs.keys().collect::<Vec<_>>(), ["matmul_f32", "network"]);
        assert_eq!(first.programs["matmul_f32"]["skipped"], CUT);
        let (done, missing): (Vec<String>, Vec<String>) =
            plan::items().into_iter().map(Item::name).partition(|name| !first.not_run.contains(name));
        assert_eq!((missing[0].as_str(), &missing), ("program matmul_f32", &first.not_run));
        assert_eq!(done.last().unwrap(), "program network");
        // Only missing items run, including one that the deadline ended. A failure is a result.
        script(path, "matmul_functions", "echo '{\"seconds\": {}}'");
        script(path, SWEEP, "echo '{\"seconds\": {}}'");
        script(path, &TESTS[0].executable(), "exit 1");
        runner(path, Kept::resume(path, &fresh()).unwrap()).all(&of_programs(), None).unwrap();
        let second = Results::read(&path.join(FILE)).unwrap();
        assert_eq!((&second.starts, second.runs.len()), (&first.starts, 2));
        assert_eq!((&second.sweep, &second.tests[TESTS[0].program]), (&first.sweep, &first.tests[TESTS[0].program]));
        assert!(second.programs["matmul_f32"].get("seconds").is_some() && second.tests.len() == TESTS.len());
        assert!(second.not_run.iter().all(|name| !name.starts_with("program ")), "{:?}", second.not_run);
    }

    #[test]
    fn gpu_check_tells_a_sanitizers_finding_from_its_refusal() {
        let folder = tempfile::tempdir().unwrap();
        let mut runner = runner(folder.path(), Kept::begin(folder.path(), fresh()).unwrap());
        let mut outcome = |text: &str| {
            script(folder.path(), "tool", text);
            runner.watched("tool", &mut Command::new(folder.path().join("tool"))).unwrap()
        };
        let refusal = "Error: Device not supported. Please refer to the documentation";
        let reason = refusal.to_owned();
        assert_eq!(outcome(&format!("echo '========= {refusal}'; exit 1")), Outcome::Skipped { reason });
        let found =
            "echo '========= COMPUTE-SANITIZER'; echo '========= Invalid __global__ write of size 4 bytes'; exit 9";
        let Outcome::Failed { reason, .. } = outcome(found) else { panic!("it found something") };
        assert_eq!(reason, "exit status: 9: Invalid __global__ write of size 4 bytes");
        let Outcome::Failed { reason, .. } = outcome("echo no GPU >&2; exit 2") else { panic!("it failed") };
        assert_eq!(reason, "exit status: 2: no GPU");
        assert!(matches!(outcome("exit 0"), Outcome::Passed { .. }));
    }
}
