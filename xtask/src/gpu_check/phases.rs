//! Runs the phases in the folder, item by item.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::{Value, json};
use timing::program::CHECK_FAILED;
use timing::say;

use super::machine::{self, Machine};
use super::plan::{PROGRAMS, Program, SANITIZER_TOOLS, SWEEP, SWEEP_PARTS, TESTS, Test};
use super::results::{FILE, Kept, Outcome, PhaseFacts, Results};
use super::{Phase, folder, mnist, python, ratios};
use crate::capture::last_line;
use crate::child::{self, Finished};

/// Time for a phase: a machine that is lent for calls of ten minutes runs one in a call.
const PHASE_LIMIT: Duration = Duration::from_secs(9 * 60);
/// The least time that an item may be given.
const LEAST: Duration = Duration::from_secs(1);
/// What compute-sanitizer prints where it cannot watch the GPU, as in some sandboxes.
const REFUSAL: &str = "Device not supported";
/// Exit code of compute-sanitizer for a finding, passed to it as an option.
const FOUND: &str = "9";

/// Runs the phases in `only`, or all of them, in their order.
pub(super) fn run(only: &[Phase], limit: u64) -> Result<ExitCode> {
    let folder = std::env::current_exe()?.parent().context("the program has a folder")?.to_path_buf();
    let made = folder::made(&folder)?;
    let kept = Kept::open(&folder, Results::new(machine::gpu(), Machine::this(), made));
    let mut runner = Runner::new(folder, kept, Duration::from_secs(limit), PHASE_LIMIT);
    for phase in Phase::value_variants() {
        if only.is_empty() || only.contains(phase) {
            runner.phase(*phase)?;
        }
    }
    say!("[*] results in {}", runner.folder.join(FILE).display());
    Ok(if runner.kept.results.all_passed { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// Runs items and keeps their results.
struct Runner {
    folder: PathBuf,
    kept: Kept,
    /// An item's time limit, where it has none of its own.
    limit: Duration,
    phase_limit: Duration,
    deadline: Instant,
    mnist: Option<PathBuf>,
}

/// An item that ended, or the reason for which it was not run or not started.
type Item = Result<Finished, Outcome>;

impl Runner {
    fn new(folder: PathBuf, kept: Kept, limit: Duration, phase_limit: Duration) -> Self {
        let mnist = mnist::directory(&folder);
        Self { folder, kept, limit, phase_limit, deadline: Instant::now(), mnist }
    }

    fn phase(&mut self, phase: Phase) -> Result<()> {
        let value = phase.to_possible_value().context("each phase has a name")?;
        let name = value.get_name();
        let before = machine::clocks();
        let start = Instant::now();
        self.deadline = start + self.phase_limit;
        self.kept.results.phases.remove(name);
        match phase {
            Phase::Tests => self.tests()?,
            Phase::Times => self.times()?,
            Phase::Peers => self.peers()?,
            Phase::Sweep => self.sweep()?,
            Phase::Sanitizer => self.sanitizer()?,
        }
        let seconds = start.elapsed().as_secs_f64();
        self.kept.results.phases.insert(name.to_owned(), PhaseFacts { seconds, before, after: machine::clocks() });
        self.kept.write()?;
        say!("[*] {name}: {seconds:.1} s");
        Ok(())
    }

    fn tests(&mut self) -> Result<()> {
        self.kept.results.tests.clear();
        for test in &TESTS {
            let mut command = Command::new(self.folder.join(test.executable()));
            command.args(test.arguments());
            let outcome = self.test(test.program, &mut command)?;
            say!("[{}] {} {outcome}", sign(!outcome.is_failure()), test.program);
            self.kept.results.tests.insert(test.program.to_owned(), outcome);
            self.kept.write()?;
        }
        Ok(())
    }

    fn times(&mut self) -> Result<()> {
        self.kept.results.programs.clear();
        for Program { name, executable, arguments } in &PROGRAMS {
            let mut command = Command::new(self.folder.join(executable));
            command.args(*arguments).args(["--device", "cuda", "--json"]);
            let mut value = self.json(name, &mut command)?;
            if value.get("dataset").is_some() {
                // The program takes the built-in digits' files for MNIST's.
                value["dataset"] = self.kept.results.made.images.clone().into();
            }
            self.kept.results.programs.insert((*name).to_owned(), value);
            self.compare()?;
        }
        Ok(())
    }

    fn sweep(&mut self) -> Result<()> {
        self.kept.results.sweep.clear();
        for part in SWEEP_PARTS {
            let mut command = Command::new(self.folder.join(SWEEP));
            command.args([part, "--device", "cuda", "--json"]);
            let value = self.json(&format!("{SWEEP} {part}"), &mut command)?;
            self.kept.results.sweep.insert(part.to_owned(), value);
            self.kept.write()?;
        }
        Ok(())
    }

    fn peers(&mut self) -> Result<()> {
        self.kept.results.peers.clear();
        for script in &python::RUNS {
            let mut command = script.command(&self.folder.join(python::FOLDER));
            let outcome = self.item(script.name, &mut command, script.limit)?;
            let value = python::value(script, outcome.map_err(|outcome| outcome.to_string()));
            for (label, reason) in python::skipped(&value) {
                say!("[*] skipped: {}, {label}: {reason}", script.name);
            }
            self.kept.results.peers.insert(script.name.to_owned(), value);
            self.compare()?;
        }
        let Results { programs, peers, .. } = &self.kept.results;
        if let Some(table) = ratios::table(&ratios::rows(programs, peers), programs, peers) {
            say!("{}", table.trim_end());
        }
        Ok(())
    }

    /// Compares our times with those of the peers, and writes the results.
    fn compare(&mut self) -> Result<()> {
        let rows = ratios::rows(&self.kept.results.programs, &self.kept.results.peers);
        self.kept.results.ratios = rows.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        self.kept.write()
    }

    fn sanitizer(&mut self) -> Result<()> {
        self.kept.results.sanitizer.clear();
        let version = self.item("compute-sanitizer", Command::new("compute-sanitizer").arg("--version"), None)?;
        if !version.is_ok_and(|version| version.is_success()) {
            let reason = "compute-sanitizer is not installed".to_owned();
            return self.sanitized("all tools".to_owned(), Outcome::Skipped { reason });
        }
        for tool in SANITIZER_TOOLS {
            for test in TESTS.iter().filter(|test| !test.is_long) {
                let outcome = self.under_sanitizer(tool, test)?;
                let refused = matches!(&outcome, Outcome::Skipped { reason } if reason.contains(REFUSAL));
                self.sanitized(format!("{tool} {}", test.program), outcome)?;
                if refused {
                    break;
                }
            }
        }
        Ok(())
    }

    fn sanitized(&mut self, name: String, outcome: Outcome) -> Result<()> {
        say!("[{}] {name} {outcome}", sign(!outcome.is_failure()));
        self.kept.results.sanitizer.insert(name, outcome);
        self.kept.write()
    }

    fn under_sanitizer(&mut self, tool: &str, test: &Test) -> Result<Outcome> {
        let mut command = Command::new("compute-sanitizer");
        // The driver's errors that the program handles are no findings.
        command.args(["--tool", tool, "--error-exitcode", FOUND, "--report-api-errors", "no"]);
        command.arg(self.folder.join(test.executable())).args(test.arguments_under_sanitizer());
        self.test(&format!("{tool} {}", test.program), &mut command)
    }

    /// Runs a test program that must use the GPU: a test that is skipped, or a filter that selects none, is a failure.
    fn test(&mut self, name: &str, command: &mut Command) -> Result<Outcome> {
        let finished = match self.item(name, command.env("GPU_TESTS", "require"), None)? {
            Ok(finished) => finished,
            Err(outcome) => return Ok(outcome),
        };
        let seconds = finished.elapsed.as_secs_f64();
        let lines = || finished.stdout.lines().chain(finished.stderr.lines());
        if let Some(refusal) = lines().find(|line| line.contains(REFUSAL)) {
            return Ok(Outcome::Skipped { reason: refusal.trim_start_matches('=').trim().to_owned() });
        }
        if !finished.is_success() {
            // The line below "thread … panicked at …" says why.
            let reason = lines().skip_while(|line| !line.contains("panicked at")).nth(1);
            let reason = reason.or_else(|| last_line(&finished.stderr));
            return Ok(Outcome::Failed { seconds, reason: with_reason(&finished, reason) });
        }
        let result = lines().find_map(|line| line.strip_prefix("test result: ok. "));
        let ran = result.is_some_and(|counts| !counts.starts_with("0 passed"));
        Ok(if ran {
            Outcome::Passed { seconds }
        } else {
            Outcome::Failed { seconds, reason: "no test ran".to_owned() }
        })
    }

    /// Runs a program that prints a JSON object.
    fn json(&mut self, name: &str, command: &mut Command) -> Result<Value> {
        let value = match self.item(name, command, None)? {
            Err(Outcome::Skipped { reason }) => json!({ "skipped": reason }),
            Err(outcome) => json!({ "failed": outcome.to_string() }),
            Ok(finished) if !finished.is_success() => {
                json!({ "failed": with_reason(&finished, last_line(&finished.stderr)) })
            }
            Ok(finished) => match serde_json::from_str::<Value>(&finished.stdout) {
                Ok(value) if value.is_object() => value,
                Ok(_) => json!({ "failed": "it printed JSON that is no object" }),
                Err(error) => json!({ "failed": format!("it did not print its JSON object: {error}") }),
            },
        };
        let problem = value.get("failed").or(value.get("skipped")).and_then(Value::as_str);
        match problem {
            Some(problem) => say!("[{}] {name}: {problem}", sign(value.get("skipped").is_some())),
            None => say!("[+] {name}"),
        }
        Ok(value)
    }

    /// Runs an item within its limit and the phase's.
    ///
    /// # Errors
    /// If its output cannot be written.
    fn item(&mut self, name: &str, command: &mut Command, limit: Option<Duration>) -> Result<Item> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left < LEAST {
            let reason = format!("the phase's {} s were over", self.phase_limit.as_secs());
            return Ok(Err(Outcome::Skipped { reason }));
        }
        command.env("RUST_BACKTRACE", "0");
        command.envs(self.mnist.iter().map(|directory| ("MNIST_DIR", directory)));
        let limit = limit.map_or(self.limit, |own| own.max(self.limit)).min(left);
        let finished = child::run(command, limit, name, &self.kept.log())?;
        Ok(finished.map_err(|reason| Outcome::Failed { seconds: 0.0, reason }))
    }
}

/// How a child ended, and the line that it wrote about that.
fn with_reason(finished: &Finished, reason: Option<&str>) -> String {
    let ending = finished.ending();
    reason.map_or_else(|| ending.clone(), |reason| format!("{ending}: {}", reason.trim()))
}

fn sign(good: bool) -> char {
    if good { '+' } else { '-' }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::gpu_check::results::Made;

    /// Writes an executable script, by a shell: a process that another test starts at the same time inherits the descriptors of
    /// files that this process writes, and Linux does not execute a file that is open for writing.
    fn script(folder: &Path, name: &str, text: &str) {
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 755 "$2""#;
        let status = Command::new("sh").args(["-c", write, "sh", text]).arg(folder.join(name)).status().unwrap();
        assert!(status.success(), "{name}: {status}");
    }

    /// A folder whose items pass, but for one test program that hangs, one that crashes, one whose tests are skipped, one that is
    /// missing, and programs that hang, crash and print garbage.
    fn rehearsal(folder: &Path) {
        for test in &TESTS {
            script(
                folder,
                &test.executable(),
                "test \"$GPU_TESTS\" = require && echo 'test result: ok. 2 passed; 0 failed'",
            );
        }
        script(folder, &TESTS[1].executable(), "sleep 60");
        script(
            folder,
            &TESTS[2].executable(),
            "echo \"thread 'a' panicked at b.rs:1:\" >&2; echo no GPU >&2; kill -SEGV $$",
        );
        script(folder, &TESTS[3].executable(), "echo 'test result: ok. 0 passed; 0 failed'");
        fs::remove_file(folder.join(TESTS[4].executable())).unwrap();
        script(folder, "neural-net", "echo '{\"dataset\": \"MNIST\", \"epochs\": []}'");
        script(folder, "matmul_functions", "sleep 60");
        script(folder, "max_functions", "echo the driver is lost >&2; exit 2");
        script(folder, "activation_functions", "echo garbage");
        script(folder, SWEEP, "test $1 = steps || { echo '{\"seconds\": {}}'; exit; }; kill -ABRT $$");
    }

    fn runner(folder: &Path, phase_limit: Duration) -> Runner {
        let made = Made { images: "built-in digits".to_owned(), ..Made::default() };
        let kept = Kept::open(folder, Results::new("a GPU".to_owned(), Machine::default(), made));
        Runner::new(folder.to_path_buf(), kept, Duration::from_secs(1), phase_limit)
    }

    #[test]
    fn gpu_check_survives_what_hangs_crashes_and_prints_garbage() {
        let folder = tempfile::tempdir().unwrap();
        rehearsal(folder.path());
        let mut runner = runner(folder.path(), PHASE_LIMIT);
        for phase in [Phase::Tests, Phase::Times, Phase::Sweep] {
            runner.phase(phase).unwrap();
        }
        let results = Results::read(&folder.path().join(FILE)).unwrap();
        assert!(!results.all_passed && results.phases.len() == 3);
        let reason = |index: usize| match &results.tests[TESTS[index].program] {
            Outcome::Failed { reason, .. } => reason.clone(),
            other => other.to_string(),
        };
        assert!(reason(0).starts_with("passed"), "{}", reason(0));
        assert!(reason(1).starts_with("killed at its time limit, after 1 s"), "{}", reason(1));
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
        // One phase again replaces its own part only.
        script(folder.path(), &TESTS[1].executable(), "echo 'test result: ok. 1 passed'");
        runner.phase(Phase::Tests).unwrap();
        let again = Results::read(&folder.path().join(FILE)).unwrap();
        assert!(!again.tests[TESTS[1].program].is_failure());
        assert_eq!(again.programs, results.programs);
    }

    #[test]
    fn gpu_check_stops_a_phase_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        rehearsal(folder.path());
        let mut runner = runner(folder.path(), Duration::from_millis(1500));
        runner.phase(Phase::Times).unwrap();
        let skipped = runner.kept.results.programs.values().filter(|value| value.get("skipped").is_some()).count();
        assert!(skipped > 0, "{:?}", runner.kept.results.programs);
    }

    #[test]
    fn gpu_check_skips_a_sanitizer_that_refuses_the_device() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = "========= Error: Device not supported. Please refer to the documentation";
        script(folder.path(), "refuses", &format!("echo '{refusal}'; exit 1"));
        let mut runner = runner(folder.path(), PHASE_LIMIT);
        runner.deadline = Instant::now() + PHASE_LIMIT;
        let outcome = runner.test("refuses", &mut Command::new(folder.path().join("refuses"))).unwrap();
        let reason = "Error: Device not supported. Please refer to the documentation".to_owned();
        assert_eq!(outcome, Outcome::Skipped { reason });
    }
}
