//! `cargo xtask gpu-check`: one folder with everything that checks and times the kernels on a machine that has a GPU and
//! no Rust. There, `run.sh` runs it and writes one JSON file; where Python has CuPy, Numba or PyTorch, beside their times.

mod mnist;
mod python;
mod ratios;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use timing::program::CHECK_FAILED;
use timing::say;

use crate::capture::stdout_of;
use crate::cargo::build_executable;
use crate::workspace_root;

/// What to do.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the checks from the folder that this program lies in, instead of making the folder
    #[arg(long, hide = true)]
    run: bool,
}

/// The tests that need a GPU: package, test program, and the part of the tests' names that chooses them.
const TESTS: [(&str, &str, &str); 6] = [
    ("gpu", "on_a_gpu", ""),
    ("gpu", "random_programs_on_a_gpu", "on_a_gpu"),
    ("max_functions", "max_gpu_is_right", "on_a_gpu"),
    ("matmul_functions", "matmul_gpu_is_right", "on_a_gpu"),
    ("activation_functions", "activation_gpu_is_right", "on_a_gpu"),
    ("neural-net", "part1_gpu_engine", "on_a_gpu"),
];

/// Tests of the same kind that would take too long under compute-sanitizer.
const LONG_TESTS: [(&str, &str, &str); 1] = [("neural-net", "part1_gpu_training", "digits_on_a_gpu")];

/// The programs whose figures are kept, by the name they have in the results.
const PROGRAMS: [(&str, &str, &[&str]); 10] = [
    ("max", "max_functions", &[]),
    ("matmul_f32", "matmul_functions", &["--ladder"]),
    ("matmul_f64", "matmul_functions", &["--ladder", "--dtype", "f64"]),
    ("activation", "activation_functions", &[]),
    ("activation_100_million", "activation_functions", &["-n", "100000000", "--repeats", "5"]),
    ("network", "neural-net", &["--preset", "homework"]),
    ("network_seed_1", "neural-net", &["--preset", "homework", "--seed", "1"]),
    ("network_seed_2", "neural-net", &["--preset", "homework", "--seed", "2"]),
    ("network_steps", "neural-net", &["--preset", "homework", "--gpu-path", "steps"]),
    ("network_notebook", "neural-net", &["--preset", "notebook"]),
];

/// The tools of NVIDIA's compute-sanitizer that the tests are repeated under, where it is installed.
const SANITIZER_TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// The file that the checks write.
const RESULTS: &str = "gpu-check.json";

/// Makes the folder, or runs what is in it.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if options.run { run_checks() } else { make_folder() }
}

fn make_folder() -> Result<ExitCode> {
    let folder = workspace_root().join("target/gpu-check");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (package, test, _) in TESTS.into_iter().chain(LONG_TESTS) {
        let executable = build(&["test", "--no-run", "--package", package, "--test", test], test)?;
        copy(&executable, &folder.join(test_name(package, test)))?;
    }
    for program in ["max_functions", "matmul_functions", "activation_functions", "neural-net"] {
        copy(&build(&["build", "--package", program, "--bin", program], program)?, &folder.join(program))?;
    }
    copy(&std::env::current_exe()?, &folder.join("xtask"))?;
    python::carry(&folder)?;
    mnist::carry(&folder)?;
    let script = "#!/bin/sh\n# Checks and times the kernels on this machine's GPU; writes gpu-check.json.\n\
                  cd \"$(dirname \"$0\")\" && exec ./xtask gpu-check --run\n";
    std::fs::write(folder.join("run.sh"), script)?;
    say!("[*] {} holds the checks: copy it to a machine with an NVIDIA GPU and run: sh run.sh", folder.display());
    if let Some(packed) = pack(&folder) {
        say!("[*] {} is the same, packed: a third of the size", packed.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Packs the folder beside itself, for a slow way to that machine; None where there is no tar.
fn pack(folder: &Path) -> Option<PathBuf> {
    let (parent, name) = (folder.parent()?, folder.file_name()?);
    let packed = folder.with_extension("tar.gz");
    let mut command = Command::new("tar");
    command.arg("-czf").arg(&packed).arg("-C").arg(parent).arg(name).stderr(Stdio::null());
    command.status().ok().filter(std::process::ExitStatus::success).map(|_| packed)
}

/// Runs cargo and returns the executable of that name.
fn build(arguments: &[&str], name: &str) -> Result<PathBuf> {
    build_executable(arguments, name)?
        .with_context(|| format!("cargo {} made no executable {name}", arguments.join(" ")))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    // A third of the size without what only a debugger reads; without the tool it stays in.
    let _ = Command::new("strip").arg("--strip-debug").arg(to).stderr(Stdio::null()).status();
    Ok(())
}

fn test_name(package: &str, test: &str) -> String {
    format!("{package}-{test}")
}

/// Runs all checks, writes their results, and fails if one did.
fn run_checks() -> Result<ExitCode> {
    let folder = std::env::current_exe()?.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut good = true;
    let mut tests = Map::new();
    for (package, test, filter) in TESTS.into_iter().chain(LONG_TESTS) {
        let mut command = Command::new(folder.join(test_name(package, test)));
        good &= record(&mut tests, test, &run_test(command.arg(filter)));
    }
    let mnist = mnist::directory(&folder);
    if mnist.is_none() {
        say!("[*] {}", mnist::MISSING);
    }
    let mut programs = Map::new();
    for (name, program, arguments) in PROGRAMS {
        let mut command = Command::new(folder.join(program));
        command.args(arguments).args(["--device", "cuda", "--json"]);
        command.envs(mnist.iter().map(|directory| ("MNIST_DIR", directory)));
        let outcome = stdout_of(&mut command).and_then(|text| Ok(serde_json::from_str::<Value>(&text)?));
        good &= outcome.is_ok();
        say!("[{}] {name}", if outcome.is_ok() { '+' } else { '-' });
        programs.insert(name.to_owned(), outcome.unwrap_or_else(|error| json!({ "failed": format!("{error:#}") })));
    }
    let query = ["--query-gpu=name,driver_version,compute_cap,memory.total", "--format=csv,noheader"];
    let gpu = stdout_of(Command::new("nvidia-smi").args(query));
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let mut results = json!({
        "unix_time": seconds,
        "gpu": gpu.map_or_else(|error| format!("unknown: {error:#}"), |line| line.trim().to_owned()),
        "all_passed": good,
        "tests": tests,
        "mnist": mnist.as_ref().map_or(mnist::MISSING, |_| "there"),
        "programs": &programs,
        "peers": "not yet run",
        "ratios": [],
        "sanitizer": "not yet run",
    });
    // The peers and the sanitizer take minutes. Who stops them keeps the rest.
    write(&folder, &results)?;
    let peers = python::run(&folder.join(python::FOLDER), mnist.as_deref());
    let ratios = ratios::rows(&programs, &peers);
    if let Some(table) = ratios::table(&ratios, &programs, &peers) {
        say!("{}", table.trim_end());
    }
    results["peers"] = peers.into();
    results["ratios"] = serde_json::to_value(ratios)?;
    write(&folder, &results)?;
    results["sanitizer"] = sanitize(&folder, &mut good);
    results["all_passed"] = good.into();
    write(&folder, &results)?;
    say!("[*] results in {}", folder.join(RESULTS).display());
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// Repeats the tests under every tool of compute-sanitizer; `good` becomes false where one finds something.
fn sanitize(folder: &Path, good: &mut bool) -> Value {
    if stdout_of(Command::new("compute-sanitizer").arg("--version")).is_err() {
        return json!({ "skipped": "compute-sanitizer is not installed" });
    }
    let mut results = Map::new();
    for tool in SANITIZER_TOOLS {
        for (package, test, filter) in TESTS {
            let mut command = Command::new("compute-sanitizer");
            command.args(["--tool", tool, "--error-exitcode", "9"]).arg(folder.join(test_name(package, test)));
            *good &= record(&mut results, &format!("{tool} {test}"), &run_test(command.arg(filter)));
        }
    }
    results.into()
}

fn write(folder: &Path, results: &Value) -> Result<()> {
    let file = folder.join(RESULTS);
    let text = serde_json::to_string_pretty(results)?;
    neural_net::files::write_atomically(&file, text.as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))
}

/// Runs a test program that must use the GPU: a test that is skipped, or a filter that chooses none, is a failure.
fn run_test(command: &mut Command) -> Result<()> {
    let output = command.env("GPU_TESTS", "require").env("RUST_BACKTRACE", "0").stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        // The line below "thread … panicked at …" says why.
        let reason = text.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
        bail!("{}: {}", output.status, reason.unwrap_or("no message"));
    }
    let result = text.lines().find(|line| line.starts_with("test result: ok. "));
    let passed = result.is_some_and(|line| !line.starts_with("test result: ok. 0 passed"));
    ensure!(passed, "no test ran");
    Ok(())
}

/// Keeps an outcome and prints it; returns whether it was good.
fn record(results: &mut Map<String, Value>, name: &str, outcome: &Result<()>) -> bool {
    let value = match outcome {
        Ok(()) => "passed".to_owned(),
        Err(error) => format!("failed: {error:#}"),
    };
    say!("[{}] {name} {value}", if outcome.is_ok() { '+' } else { '-' });
    results.insert(name.to_owned(), value.into());
    outcome.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<()> {
        run_test(Command::new("sh").args(["-c", script]))
    }

    #[test]
    #[cfg(unix)]
    fn gpu_check_counts_only_tests_that_ran() {
        assert!(shell("test \"$GPU_TESTS\" = require && echo 'test result: ok. 2 passed; 0 failed'").is_ok());
        assert_eq!(shell("echo 'test result: ok. 0 passed; 0 failed'").unwrap_err().to_string(), "no test ran");
        assert!(shell("echo 'test result: FAILED. 1 passed; 1 failed'; exit 101").is_err());
    }
}
