//! Runs the calls in the folder, item by item.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use command_line::CHECK_FAILED;
use command_line::say;
use serde_json::{Value, json};

use super::machine::{self, Machine};
use super::plan::{COUNTED, Call, ITEM_LIMIT, PROGRAMS, Run, SANITIZED, STARTS, SWEEP, SWEEP_PARTS, TESTS};
use super::results::{CallFacts, Kept, Outcome, Results};
use super::{folder, mnist, nsight, python, ratios, show};
use crate::capture::last_line;
use child_process::Finished;

/// The least time that an item may be given.
const LEAST: Duration = Duration::from_secs(1);
/// Time for a run under Nsight Compute, and under the sanitizer: both make kernels many times slower.
const TOOL_LIMIT: Duration = Duration::from_secs(100);
/// What compute-sanitizer prints where it cannot watch the GPU, as in some sandboxes.
const REFUSAL: &str = "Device not supported";
/// Exit code of compute-sanitizer for a finding, passed to it as an option.
const FOUND: &str = "9";

/// Runs the calls in `only`, or all of them, in their order.
pub(super) fn run(only: &[Call]) -> Result<ExitCode> {
    let folder = std::env::current_exe()?.parent().context("the program has a folder")?.to_path_buf();
    let made = folder::made(&folder)?;
    let gpu = machine::gpu(&folder.join(format!("max_functions{EXE_SUFFIX}")));
    let kept = Kept::open(&folder, Results::new(gpu, Machine::this(), made));
    let mut runner = Runner::new(folder, kept);
    if runner.is_emulated {
        runner.mnist = Some(mnist::few(&runner.folder)?);
    }
    for call in Call::value_variants() {
        if only.is_empty() || only.contains(call) {
            runner.call(*call, call.limit())?;
            show::verdict(*call, &runner.kept.results).iter().for_each(|line| say!("{line}"));
        }
    }
    Ok(if runner.kept.results.all_passed { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// Runs items and keeps their results.
struct Runner {
    folder: PathBuf,
    kept: Kept,
    /// Maximum of an item's time limit.
    max_limit: Duration,
    call_limit: Duration,
    /// The end of the call by the clock.
    deadline: Duration,
    /// Time since its start. Tests have one that their scripts move.
    clock: Box<dyn Fn() -> Duration>,
    mnist: Option<PathBuf>,
    /// Whether the driver is the emulator, which runs all items at small sizes.
    is_emulated: bool,
}

/// An item that ended, or the reason for which it was not run or not started.
type Item = Result<Finished, Outcome>;

impl Runner {
    fn new(folder: PathBuf, kept: Kept) -> Self {
        let mnist = mnist::directory(&folder);
        let (max_limit, call_limit) = (Duration::MAX, Duration::ZERO);
        let is_emulated = kept.results.is_emulated();
        let start = Instant::now();
        let clock = Box::new(move || start.elapsed());
        Self { folder, kept, max_limit, call_limit, deadline: Duration::ZERO, clock, mnist, is_emulated }
    }

    fn call(&mut self, call: Call, limit: Duration) -> Result<()> {
        let before = machine::clocks();
        let start = (self.clock)();
        (self.call_limit, self.deadline) = (limit, start + limit);
        self.kept.results.calls.remove(call.name());
        match call {
            Call::First => {
                self.starts()?;
                self.sweep()?;
                self.tests()?;
            }
            Call::Times => self.times()?,
            Call::Counters => self.counters()?,
            Call::Sanitizer => self.sanitizer()?,
            Call::Peers => self.peers()?,
        }
        let facts = CallFacts { seconds: ((self.clock)() - start).as_secs_f64(), before, after: machine::clocks() };
        self.kept.results.calls.insert(call.name().to_owned(), facts);
        self.kept.write()
    }

    /// The file of a program of the folder.
    fn program(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{EXE_SUFFIX}"))
    }

    /// A program of the folder on the GPU, with JSON output.
    fn on_gpu(&self, run: &Run) -> Command {
        let mut command = Command::new(self.program(run.executable));
        command.args(run.arguments(self.is_emulated)).args(["--device", "cuda", "--json"]);
        command
    }

    fn starts(&mut self) -> Result<()> {
        // What nvidia-smi shows is kept in the log.
        let _smi = self.item("nvidia-smi", &mut Command::new("nvidia-smi"), Duration::from_secs(10))?;
        self.kept.results.starts.clear();
        for run in &STARTS {
            let mut seconds = Vec::new();
            let mut value = Value::Null;
            for _ in 0..2 {
                let start = Instant::now();
                value = self.json(&format!("start of {}", run.name), &mut self.on_gpu(run), ITEM_LIMIT)?;
                seconds.push(start.elapsed().as_secs_f64());
                if show::problem(&value).is_some() {
                    break;
                }
            }
            let value = if show::problem(&value).is_some() { value } else { json!({ "seconds": seconds }) };
            self.kept.results.starts.insert(run.name.to_owned(), value);
            self.kept.write()?;
        }
        Ok(())
    }

    fn sweep(&mut self) -> Result<()> {
        self.kept.results.sweep.clear();
        for part in SWEEP_PARTS {
            let mut command = Command::new(self.program(SWEEP));
            command.args([part, "--device", "cuda", "--json"]);
            if self.is_emulated {
                command.args(["--repeats", "1", "--steps", "1"]);
            }
            let value = self.json(&format!("{SWEEP} {part}"), &mut command, ITEM_LIMIT)?;
            self.kept.results.sweep.insert(part.to_owned(), value);
            self.kept.write()?;
        }
        Ok(())
    }

    fn tests(&mut self) -> Result<()> {
        self.kept.results.tests.clear();
        for test in &TESTS {
            let outcome = match test.arguments_on(self.is_emulated) {
                Some(arguments) => {
                    let mut command = Command::new(self.program(&test.executable()));
                    self.test(test.program, command.args(arguments), test.limit)?
                }
                None => Outcome::Skipped { reason: "the emulated driver needs a minute or more for it".to_owned() },
            };
            self.kept.results.tests.insert(test.program.to_owned(), outcome);
            self.kept.write()?;
        }
        Ok(())
    }

    fn times(&mut self) -> Result<()> {
        self.kept.results.programs.clear();
        for run in &PROGRAMS {
            let mut value = self.json(run.name, &mut self.on_gpu(run), ITEM_LIMIT)?;
            if value.get("dataset").is_some() {
                // The program takes the built-in digits' files for MNIST's.
                let images = if self.is_emulated { mnist::FEW } else { &self.kept.results.made.images };
                value["dataset"] = images.into();
            }
            self.kept.results.programs.insert(run.name.to_owned(), value);
            self.compare()?;
        }
        Ok(())
    }

    fn counters(&mut self) -> Result<()> {
        self.kept.results.counters.clear();
        let Some(ncu) = nsight::find("ncu") else {
            let value = json!({ "skipped": "ncu, of Nsight Compute, is not installed" });
            self.kept.results.counters.insert("all kernels".to_owned(), value);
            return self.kept.write();
        };
        for run in &COUNTED {
            let mut command = Command::new(&ncu);
            // The second launch: the first loads the kernel. The GPU's own clock is kept, so that times and cycles agree.
            command.args(["--clock-control", "none", "--set", "full", "-k", run.name, "-s", "1", "-c", "1"]);
            command.arg(self.program(run.executable)).args(run.arguments(self.is_emulated)).args(["--device", "cuda"]);
            let value = match self.item(&format!("ncu {}", run.name), &mut command, TOOL_LIMIT)? {
                Ok(finished) => nsight::value(&finished),
                Err(outcome) => outcome_as_json(&outcome),
            };
            self.kept.results.counters.insert(run.name.to_owned(), value);
            self.kept.write()?;
        }
        Ok(())
    }

    fn sanitizer(&mut self) -> Result<()> {
        self.kept.results.sanitizer.clear();
        let Some(sanitizer) = nsight::find("compute-sanitizer") else {
            let reason = "compute-sanitizer is not installed".to_owned();
            self.kept.results.sanitizer.insert("all tools".to_owned(), Outcome::Skipped { reason });
            return self.kept.write();
        };
        for sanitized in &SANITIZED {
            let mut command = Command::new(&sanitizer);
            // The driver's errors that the program handles are no findings.
            command.args(["--tool", sanitized.tool, "--error-exitcode", FOUND, "--report-api-errors", "no"]);
            command.args(["--print-limit", "20"]);
            command.arg(self.program(sanitized.executable)).args(sanitized.arguments(self.is_emulated));
            let outcome = self.sanitized(&sanitized.name(), command.env("GPU_TESTS", "require"))?;
            self.kept.results.sanitizer.insert(sanitized.name(), outcome);
            self.kept.write()?;
        }
        Ok(())
    }

    /// Runs a program under the sanitizer: it passes if the program does and the tool finds nothing.
    fn sanitized(&mut self, name: &str, command: &mut Command) -> Result<Outcome> {
        let finished = match self.item(name, command, TOOL_LIMIT)? {
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

    fn peers(&mut self) -> Result<()> {
        self.kept.results.peers.clear();
        let l2_bytes = self.kept.results.programs.get("max").and_then(|max| max.get("l2_bytes")?.as_u64());
        for script in &python::RUNS {
            let mut command = script.command(&self.folder.join(python::FOLDER), l2_bytes);
            let outcome = self.item(script.name, &mut command, script.limit)?;
            let value = python::value(script, outcome.map_err(|outcome| outcome.to_string()));
            self.kept.results.peers.insert(script.name.to_owned(), value);
            self.compare()?;
        }
        Ok(())
    }

    /// Compares our times with those of the peers, and writes the results.
    fn compare(&mut self) -> Result<()> {
        let rows = ratios::rows(&self.kept.results);
        self.kept.results.ratios = rows.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        self.kept.write()
    }

    /// Runs a test program that must use the GPU: a test that is skipped, or a filter that selects none, is a failure.
    fn test(&mut self, name: &str, command: &mut Command, limit: Duration) -> Result<Outcome> {
        let finished = match self.item(name, command.env("GPU_TESTS", "require"), limit)? {
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
        Ok(match self.item(name, command, limit)? {
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

    /// Runs an item within its limit and the call's.
    ///
    /// # Errors
    /// If its output cannot be written.
    fn item(&mut self, name: &str, command: &mut Command, limit: Duration) -> Result<Item> {
        let left = self.deadline.saturating_sub((self.clock)());
        if left < LEAST {
            let reason = format!("the call's {} s were over", self.call_limit.as_secs());
            return Ok(Err(Outcome::Skipped { reason }));
        }
        command.env("RUST_BACKTRACE", "0");
        command.envs(self.mnist.iter().map(|directory| ("MNIST_DIR", directory)));
        let limit = limit.min(self.max_limit).min(left);
        let finished = child_process::run_by(&*self.clock, command, limit, name, &self.kept.log())?;
        Ok(finished.map_err(|reason| Outcome::Failed { seconds: 0.0, reason }))
    }
}

/// The lines that a child wrote.
fn lines_of(finished: &Finished) -> impl Iterator<Item = &str> + Clone {
    finished.stdout.lines().chain(finished.stderr.lines())
}

/// Why a child failed: the line below "thread … panicked at …", else its last one.
fn reason_of(finished: &Finished) -> Option<&str> {
    let below_panic = lines_of(finished).skip_while(|line| !line.contains("panicked at")).nth(1);
    below_panic.or_else(|| last_line(&finished.stderr))
}

/// How a child ended, and the line that it wrote about that.
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
    use crate::gpu_check::results::{FILE, Made};

    /// Writes an executable script, by a shell: a process that another test starts at the same time inherits the descriptors of
    /// files that this process writes, and Linux does not execute a file that is open for writing.
    fn script(folder: &Path, name: &str, text: &str) {
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 755 "$2""#;
        let status = Command::new("sh").args(["-c", write, "sh", text]).arg(folder.join(name)).status().unwrap();
        assert!(status.success(), "{name}: {status}");
    }

    /// A script that does not end. It moves the clock of [`runner`] by [`LIMIT`].
    const ENDLESS: &str = r#"echo >> "$(dirname "$0")/moved"; exec sleep 600"#;

    /// The limit of an item.
    const LIMIT: Duration = Duration::from_secs(60);

    /// A folder whose items pass, except for one test program that hangs, one that crashes, one whose tests are skipped, one that is
    /// missing, and programs that hang, crash and print garbage.
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

    /// A runner whose clock stands still but for scripts that are [`ENDLESS`].
    fn runner(folder: &Path) -> Runner {
        let made = Made { images: "built-in digits".to_owned(), ..Made::default() };
        let kept = Kept::open(folder, Results::new("a GPU".to_owned(), Machine::default(), made));
        let moved = folder.join("moved");
        let clock = move || LIMIT * fs::read(&moved).map_or(0, |lines| u32::try_from(lines.len()).unwrap());
        Runner { max_limit: LIMIT, clock: Box::new(clock), ..Runner::new(folder.to_path_buf(), kept) }
    }

    #[test]
    fn gpu_check_survives_what_hangs_crashes_and_prints_garbage() {
        let folder = tempfile::tempdir().unwrap();
        rehearsal(folder.path());
        let mut runner = runner(folder.path());
        for call in [Call::First, Call::Times] {
            runner.call(call, call.limit()).unwrap();
        }
        let results = Results::read(&folder.path().join(FILE)).unwrap();
        assert!(!results.all_passed && results.calls.len() == 2);
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
        // One call again replaces its own part only.
        script(folder.path(), &TESTS[1].executable(), "echo 'test result: ok. 1 passed'");
        runner.call(Call::First, Call::First.limit()).unwrap();
        let again = Results::read(&folder.path().join(FILE)).unwrap();
        assert!(!again.tests[TESTS[1].program].is_failure());
        assert_eq!(again.programs, results.programs);
    }

    #[test]
    fn gpu_check_stops_a_call_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        rehearsal(folder.path());
        let mut runner = runner(folder.path());
        runner.call(Call::Times, LIMIT * 3 / 2).unwrap();
        let programs = &runner.kept.results.programs;
        let is = |outcome| move |value: &&Value| value.get(outcome).is_some();
        let skipped: Vec<&Value> = programs.values().filter(is("skipped")).collect();
        assert!(
            !skipped.is_empty() && skipped.iter().all(|value| value["skipped"] == "the call's 90 s were over"),
            "{programs:?}"
        );
        let killed = programs.values().filter(is("failed"));
        let killed =
            killed.filter_map(|value| value["failed"].as_str()).filter(|reason| reason.starts_with("killed")).count();
        // The first has its limit, the second the 30 s that are left of the call's.
        assert_eq!(killed, 2, "{programs:?}");
    }

    #[test]
    fn gpu_check_tells_a_sanitizers_finding_from_its_refusal() {
        let folder = tempfile::tempdir().unwrap();
        let mut runner = runner(folder.path());
        runner.deadline = LIMIT;
        let mut outcome = |text: &str| {
            script(folder.path(), "tool", text);
            runner.sanitized("tool", &mut Command::new(folder.path().join("tool"))).unwrap()
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
