//! `--rehearse`: makes the folder and runs it here on the emulated driver, before it runs on a GPU.
//!
//! Each item runs with its arguments for the emulator, at small sizes, and must pass. Stand-ins for
//! Nsight Compute and compute-sanitizer record their arguments and run the given program. The
//! results state that none of their times are a GPU's.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use command_line::say;
use gpu::is_emulated;
use serde_json::{Map, Value};

use super::plan::{COUNTED, MACHINE_PARTS, PROGRAMS, SANITIZED, STARTS, STEP_PARTS, TESTS};
use super::results::{FILE, Outcome, Results};
use super::{folder, python, show};
use crate::cargo::build_executables;
use crate::workspace::Workspace;

/// The run's deadline, as on a GPU. It takes about two minutes on two cores.
const WITHIN: &str = "480";
/// Time limit of the run.
const LIMIT: Duration = Duration::from_secs(600);
/// The tools that are replaced by stand-ins.
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

/// Makes the folder and rehearses its run. An error describes the first thing that did not go as
/// expected.
pub(super) fn run() -> Result<ExitCode> {
    folder::make(None)?;
    let folder = folder::path();
    let emulator = emulator()?;
    let tools = tempfile::tempdir().context("cannot make a folder for the stand-ins")?;
    for name in TOOLS {
        make_executable(&tools.path().join(name))?;
    }
    let start = Instant::now();
    run_script(&["--within", WITHIN], &folder, &emulator, tools.path())?;
    say!("[*] the run took {:.0} s, which are not a GPU's", start.elapsed().as_secs_f64());
    let results = Results::read(&folder.join(FILE))?;
    check(&results)?;
    let record = std::fs::read_to_string(tools.path().join(RECORD)).context("the stand-ins were not started")?;
    check_record(&record)?;
    // Nothing is left to run.
    run_script(&["--resume"], &folder, &emulator, tools.path())?;
    let resumed = Results::read(&folder.join(FILE))?;
    ensure!(
        resumed.runs.len() == 2 && resumed.programs == results.programs,
        "the run did not resume: {:?}",
        resumed.runs
    );
    say!("[+] every item passed on the emulated driver");
    old_drivers(&folder, &emulator)?;
    say!("[+] the oldest drivers run the kernels, and one before them is refused");
    Ok(ExitCode::SUCCESS)
}

/// Runs a program with every kernel of X·Xᵀ on the oldest supported drivers of three GPUs, and on
/// an older one. See docs/gpu-kernels.md, "Which GPUs and drivers".
fn old_drivers(folder: &Path, emulator: &Path) -> Result<()> {
    let drivers =
        [("11.0", "sm_75", 0), ("11.1", "sm_86", 0), ("11.8", "sm_90", 0), ("12.1", "sm_90", 0), ("10.2", "sm_75", 2)];
    for (version, device, expected) in drivers {
        let mut command = Command::new(emulator);
        command.args(["run", "--cuda-version", version, "--devices", device]).arg(folder.join("matmul_functions"));
        command.args(["--ladder", "--repeats", "1", "--size", "100", "40", "--device", "cuda"]);
        let output = command.output().context("cannot start the emulator")?;
        ensure!(
            output.status.code() == Some(expected),
            "matmul_functions on {device} with a driver of CUDA {version}: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
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

/// Runs the script like on the machine with the GPU.
fn run_script(arguments: &[&str], folder: &Path, emulator: &Path, tools: &Path) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools.to_path_buf()].into_iter().chain(std::env::split_paths(&path)))?;
    let mut command = Command::new(emulator);
    // Kernel tests already look for races. Without that check, blocks run in parallel.
    command.args(["run", "--no-races", "sh"]).arg(folder.join("run.sh")).args(arguments);
    command.env("PATH", path).env_remove("OUT").env_remove("SKIPPED_TESTS");
    let finished = child_process::run(&mut command, LIMIT, "run.sh", &tools.join("run.log"))?;
    let finished = finished.map_err(anyhow::Error::msg)?;
    // The programs' output is in the log. The emulator summarizes what they launched.
    ensure!(
        finished.status.is_some()
            && finished.stdout.contains(show::EMULATED)
            && finished.stderr.starts_with("CUDA emulator: "),
        "run.sh {}: {}\n{}{}",
        arguments.join(" "),
        finished.ending(),
        finished.stdout,
        finished.stderr
    );
    Ok(())
}

/// Checks that the results have all items, that each passed on the emulator, and that no times were
/// recorded.
fn check(results: &Results) -> Result<()> {
    ensure!(results.is_emulated(), "the results are of {}", results.gpu);
    ensure!(results.not_run.is_empty(), "not run: {}", results.not_run.join(", "));
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
    for part in MACHINE_PARTS.into_iter().chain(STEP_PARTS) {
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
        // The stand-in counts nothing. Its exit code is the program's.
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
