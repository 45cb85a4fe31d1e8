//! `--rehearse`: the folder is made, and all of its calls run here without a GPU, so that no lease is lost to a script.
//!
//! The sweep's parts run on the interpreter. Each program must end with the message that there is no GPU. Stand-ins for Nsight Compute and compute-sanitizer record
//! their arguments and run the program that they are given.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use command_line::say;
use serde_json::Value;

use super::plan::{COUNTED, Call, PROGRAMS, SANITIZED, STARTS, SWEEP, SWEEP_PARTS, TESTS};
use super::results::{FILE, Outcome, Results};
use super::{folder, python, show};
use crate::capture::stdout_of;

/// A driver's library that no machine has.
const NO_DRIVER: &str = "no-such-libcuda.so.1";
/// What each program says without a driver.
const MESSAGE: &str = "no CUDA driver (no-such-libcuda.so.1)";
/// The tools that are stood in for.
const TOOLS: [&str; 2] = ["ncu", "compute-sanitizer"];
/// The file that a stand-in appends its arguments to.
const RECORD: &str = "tools.txt";

/// Appends its name and arguments to the record, and runs the program that follows its own options.
#[cfg(unix)]
const STAND_IN: &str = r#"#!/bin/sh
echo "$(basename "$0") $*" >>"$(dirname "$0")/tools.txt"
until [ -x "$1" ] && [ -f "$1" ]; do shift || exit 3; done
exec "$@"
"#;

/// Makes the folder and rehearses its calls; an error is the first thing that went otherwise than expected.
pub(super) fn run() -> Result<ExitCode> {
    folder::make(None)?;
    let folder = folder::path();
    let tools = tempfile::tempdir().context("cannot make a folder for the stand-ins")?;
    for name in TOOLS {
        make_executable(&tools.path().join(name))?;
    }
    for part in SWEEP_PARTS {
        let arguments = [part, "--device", "ptx", "--repeats", "1", "--steps", "1"];
        stdout_of(Command::new(folder.join(SWEEP)).args(arguments))?;
        say!("[+] {SWEEP} {part} runs on the interpreter");
    }
    for call in Call::value_variants() {
        let lines = run_call(*call, &folder, tools.path())?;
        say!("[+] {}: {lines} lines", call.name());
    }
    let results = Results::read(&folder.join(FILE))?;
    check(&results)?;
    let record = std::fs::read_to_string(tools.path().join(RECORD)).context("the stand-ins were not started")?;
    check_record(&record)?;
    say!("[+] every item ran to the message that there is no GPU");
    Ok(ExitCode::SUCCESS)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, STAND_IN).with_context(|| format!("cannot write {}", path.display()))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", path.display()))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    anyhow::bail!("the rehearsal needs a Unix shell")
}

/// Runs a call as on the machine with the GPU; returns the number of lines that it printed.
fn run_call(call: Call, folder: &Path, tools: &Path) -> Result<usize> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools.to_path_buf()].into_iter().chain(std::env::split_paths(&path)))?;
    let mut command = Command::new("sh");
    command.arg(folder.join("run.sh")).args(["--only", call.name()]);
    command.env("PATH", path).env("CUDA_DRIVER_LIBRARY", NO_DRIVER).env_remove("OUT").env_remove("SKIPPED_TESTS");
    let log = tools.join("calls.log");
    let finished = child_process::run(&mut command, call.limit() + Duration::from_secs(30), call.name(), &log)?;
    let finished = finished.map_err(anyhow::Error::msg)?;
    ensure!(finished.status.is_some(), "the call {} was {}", call.name(), finished.ending());
    let lines = finished.stdout.lines().count();
    ensure!(
        (1..=show::MAX_LINES).contains(&lines) && finished.stderr.is_empty(),
        "the call {} printed {lines} lines:\n{}{}",
        call.name(),
        finished.stdout,
        finished.stderr
    );
    Ok(lines)
}

/// Checks that the results have all items, and that each ended for want of a GPU.
fn check(results: &Results) -> Result<()> {
    let says_so = |kind: &str, name: &str, value: Option<&Value>| {
        let reason = value.and_then(show::problem).unwrap_or("it has no reason");
        ensure!(reason.contains(MESSAGE), "{kind} {name}: {reason}");
        Ok(())
    };
    let failed_so = |kind: &str, name: &str, outcome: Option<&Outcome>| match outcome {
        Some(Outcome::Failed { reason, .. }) if reason.contains(MESSAGE) => Ok(()),
        Some(outcome) => Err(anyhow::anyhow!("{kind} {name} {outcome}")),
        None => Err(anyhow::anyhow!("{kind} {name} did not run")),
    };
    STARTS.iter().try_for_each(|run| says_so("start of", run.name, results.starts.get(run.name)))?;
    SWEEP_PARTS.iter().try_for_each(|part| says_so("sweep", part, results.sweep.get(*part)))?;
    TESTS.iter().try_for_each(|test| failed_so("test", test.program, results.tests.get(test.program)))?;
    PROGRAMS.iter().try_for_each(|run| says_so("program", run.name, results.programs.get(run.name)))?;
    COUNTED.iter().try_for_each(|run| says_so("ncu", run.name, results.counters.get(run.name)))?;
    let sanitized = SANITIZED.iter().map(|run| run.name());
    sanitized.into_iter().try_for_each(|name| failed_so("sanitizer", &name, results.sanitizer.get(&name)))?;
    for script in &python::RUNS {
        let value = results.peers.get(script.name).with_context(|| format!("{} did not run", script.name))?;
        ensure!(!python::skipped(value).is_empty(), "{} has times without a GPU", script.name);
    }
    Ok(())
}

/// Checks the arguments of the stand-ins.
fn check_record(record: &str) -> Result<()> {
    let lines: Vec<&str> = record.lines().collect();
    ensure!(lines.len() == COUNTED.len() + SANITIZED.len(), "the tools were started {} times:\n{record}", lines.len());
    for run in &COUNTED {
        let options = format!("ncu --clock-control none --set full -k {} -s 1 -c 1 ", run.name);
        let program = format!("/{} {}", run.executable, run.arguments.join(" "));
        let is_it = |line: &&str| line.starts_with(&options) && line.contains(&program);
        ensure!(lines.iter().any(is_it), "ncu did not get {options}…{program}:\n{record}");
    }
    for run in &SANITIZED {
        let options = format!("compute-sanitizer --tool {} --error-exitcode ", run.tool);
        let program = format!("/{} {}", run.executable, run.arguments.join(" "));
        let is_it = |line: &&str| line.starts_with(&options) && line.ends_with(&program);
        ensure!(lines.iter().any(is_it), "compute-sanitizer did not get {options}…{program}:\n{record}");
    }
    Ok(())
}
