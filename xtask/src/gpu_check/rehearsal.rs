//! `--rehearse`: the folder is made, and all of its calls run here on the emulated driver, so that no lease is lost to a script.
//!
//! Each item has the arguments for the emulator, at small sizes, and must pass. A tool in the place of Nsight Compute and of
//! compute-sanitizer records its arguments and runs the program that it is given. The results say that no time is a GPU's.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use command_line::say;
use gpu::is_emulated;
use serde_json::{Map, Value};

use super::plan::{COUNTED, Call, PROGRAMS, SANITIZED, STARTS, SWEEP_PARTS, TESTS};
use super::results::{FILE, Outcome, Results};
use super::{folder, python, show};
use crate::cargo::{Workspace, build_executables};

/// Time limit of a call: all of them take about two minutes on two cores.
const LIMIT: Duration = Duration::from_secs(150);
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
    let emulator = emulator()?;
    let tools = tempfile::tempdir().context("cannot make a folder for the stand-ins")?;
    for name in TOOLS {
        make_executable(&tools.path().join(name))?;
    }
    for call in Call::value_variants() {
        let start = Instant::now();
        let lines = run_call(*call, &folder, &emulator, tools.path())?;
        say!("[+] {}: {lines} lines; {:.0} s, which are not a GPU's", call.name(), start.elapsed().as_secs_f64());
    }
    let results = Results::read(&folder.join(FILE))?;
    check(&results)?;
    let record = std::fs::read_to_string(tools.path().join(RECORD)).context("the stand-ins were not started")?;
    check_record(&record)?;
    say!("[+] every item passed on the emulated driver");
    Ok(ExitCode::SUCCESS)
}

/// The program that runs others on the emulated driver.
fn emulator() -> Result<PathBuf> {
    const NAME: &str = "cuda-emulate";
    let built = build_executables(Workspace::Toolchain, &["build", "--workspace", "--bin", NAME])?;
    built.get("cuda_emulator", NAME).map(Path::to_path_buf)
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
fn run_call(call: Call, folder: &Path, emulator: &Path, tools: &Path) -> Result<usize> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools.to_path_buf()].into_iter().chain(std::env::split_paths(&path)))?;
    let mut command = Command::new(emulator);
    // Races are looked for in tests of the kernels; without that, blocks run in parallel.
    command.args(["run", "--no-races", "sh"]).arg(folder.join("run.sh")).args(["--only", call.name()]);
    command.env("PATH", path).env_remove("OUT").env_remove("SKIPPED_TESTS");
    let finished = child_process::run(&mut command, LIMIT, call.name(), &tools.join("calls.log"))?;
    let finished = finished.map_err(anyhow::Error::msg)?;
    ensure!(finished.status.is_some(), "the call {} was {}", call.name(), finished.ending());
    let lines = finished.stdout.lines().count();
    // What the programs say is in the log; the emulator sums up what they launched.
    ensure!(
        (1..=show::MAX_LINES).contains(&lines) && finished.stderr.starts_with("CUDA emulator: "),
        "the call {} printed {lines} lines:\n{}{}",
        call.name(),
        finished.stdout,
        finished.stderr
    );
    Ok(lines)
}

/// Checks that the results have all items, that each passed on the emulator, and that no program has timed it.
fn check(results: &Results) -> Result<()> {
    ensure!(results.is_emulated(), "the results are of {}", results.gpu);
    let ran = |kind: &str, name: &str, items: &Map<String, Value>| {
        let value = items.get(name).with_context(|| format!("{kind} {name} did not run"))?;
        match show::problem(value) {
            Some(reason) => Err(anyhow::anyhow!("{kind} {name}: {reason}")),
            None => Ok(value.clone()),
        }
    };
    let passed = |kind: &str, name: &str, outcome: Option<&Outcome>| match outcome {
        Some(Outcome::Passed { .. }) => Ok(()),
        Some(outcome) => Err(anyhow::anyhow!("{kind} {name} {outcome}")),
        None => Err(anyhow::anyhow!("{kind} {name} did not run")),
    };
    STARTS.iter().try_for_each(|run| ran("start of", run.name, &results.starts).map(drop))?;
    for part in SWEEP_PARTS {
        let seconds = &ran("sweep", part, &results.sweep)?["seconds"];
        ensure!(seconds.as_object().is_some_and(Map::is_empty), "sweep {part} has timed the emulator: {seconds}");
    }
    for test in &TESTS {
        let outcome = results.tests.get(test.program);
        let is_skipped = test.arguments_on(true).is_none() && matches!(outcome, Some(Outcome::Skipped { .. }));
        if !is_skipped {
            passed("test", test.program, outcome)?;
        }
    }
    for run in &PROGRAMS {
        let value = ran("program", run.name, &results.programs)?;
        ensure!(value["device"].as_str().is_some_and(is_emulated), "{} ran on {}", run.name, value["device"]);
        let mut timed = value["seconds"].as_object().into_iter().flat_map(Map::keys);
        let of_gpu = timed.find(|label| label.starts_with("cuda"));
        ensure!(of_gpu.is_none(), "{} has timed the emulator: {of_gpu:?}", run.name);
    }
    for run in &COUNTED {
        // The stand-in counts nothing; its exit code is the program's.
        let problem = results.counters.get(run.name).and_then(show::problem).unwrap_or("it did not run");
        ensure!(problem.starts_with("exit status: 0: "), "ncu {}: {problem}", run.name);
    }
    let sanitized = SANITIZED.iter().map(|run| run.name());
    sanitized.into_iter().try_for_each(|name| passed("sanitizer", &name, results.sanitizer.get(&name)))?;
    for script in &python::RUNS {
        let value = results.peers.get(script.name).with_context(|| format!("{} did not run", script.name))?;
        ensure!(!python::skipped(value).is_empty(), "{} has times of every peer", script.name);
    }
    Ok(())
}

/// Checks the arguments of the stand-ins.
fn check_record(record: &str) -> Result<()> {
    let lines: Vec<&str> = record.lines().collect();
    ensure!(lines.len() == COUNTED.len() + SANITIZED.len(), "the tools were started {} times:\n{record}", lines.len());
    for run in &COUNTED {
        let options = format!("ncu --clock-control none --set full -k {} -s 1 -c 1 ", run.name);
        let program = format!("/{} {}", run.executable, run.arguments(true).join(" "));
        let is_it = |line: &&str| line.starts_with(&options) && line.contains(&program);
        ensure!(lines.iter().any(is_it), "ncu did not get {options}…{program}:\n{record}");
    }
    for run in &SANITIZED {
        let options = format!("compute-sanitizer --tool {} --error-exitcode ", run.tool);
        let program = format!("/{} {}", run.executable, run.arguments(true).join(" "));
        let is_it = |line: &&str| line.starts_with(&options) && line.ends_with(&program);
        ensure!(lines.iter().any(is_it), "compute-sanitizer did not get {options}…{program}:\n{record}");
    }
    Ok(())
}
