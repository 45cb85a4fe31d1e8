//! Presents the results as tables with the goals, at the end of a run and for `--read FILE`.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use command_line::CHECK_FAILED;
use command_line::say;
use serde_json::{Map, Value};
use timing::format_seconds;

use super::figures::{Figure, figures};
use super::plan::{COUNTED_STEPS, MACHINE_PARTS, STEP_PARTS, SWEEP};
use super::results::Results;
use super::{python, ratios};
use crate::peers::table::aligned;

/// If the driver caches compiled kernels, a program's second start is faster by at least this fraction.
const CACHED_SHARE: f64 = 0.5;
/// First line of the tables if the driver was the emulator.
pub(super) const EMULATED: &str = "[*] the driver is the emulator: no time here is a GPU's";

/// How to run the items that the deadline prevented.
const NEXT: &str =
    "run the rest, in the same folder with its gpu-check.json: sh run.sh --resume (on Windows .\\run.cmd --resume)";

/// Prints the results in `file`. The exit code is 1 if a check failed there.
///
/// # Errors
/// If the file is not a result of gpu-check.
pub(super) fn print(file: &Path) -> Result<ExitCode> {
    let results = Results::read(file)?;
    say!("{}", text(&results).trim_end());
    Ok(if results.all_passed { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// The reason why an item has no result.
pub(super) fn problem(value: &Value) -> Option<&str> {
    value.get("failed").or(value.get("skipped")).and_then(Value::as_str)
}

/// The seconds of each program's two starts, and whether the driver caches what it compiles.
fn starts(starts: &Map<String, Value>) -> Vec<String> {
    let seconds = |value: &Value| Some((value["seconds"].get(0)?.as_f64()?, value["seconds"].get(1)?.as_f64()?));
    let both: Vec<(&String, (f64, f64))> =
        starts.iter().filter_map(|(name, value)| Some((name, seconds(value)?))).collect();
    if both.is_empty() {
        return Vec::new();
    }
    let shown: Vec<String> =
        both.iter().map(|(name, (first, second))| format!("{name} {first:.2} s, then {second:.2} s")).collect();
    let cache = match both.iter().find(|(name, _)| *name == SWEEP) {
        Some((_, (first, second))) if *second < CACHED_SHARE * first => "; the driver keeps compiled kernels",
        Some(_) => "; the driver does not keep compiled kernels",
        None => "",
    };
    vec![format!("[*] starts: {}{cache}", shown.join("; "))]
}

/// A row for each figure with a time: the time, the goal and whether it is reached, and the limit
/// with its percentage of our time.
fn goals(results: &Results) -> Vec<Vec<String>> {
    let row = |figure: Figure| {
        let ours = figure.ours.find(results)?.min;
        let goal = figure.goal.seconds(&figure, results);
        let verdict = match goal {
            None => "no time of the peer".to_owned(),
            Some(goal) if ours <= goal => "reached".to_owned(),
            Some(goal) => format!("short by a factor of {:.2}", ours / goal),
        };
        let shown = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), format_seconds);
        let limit = figure.limit.seconds(results);
        let share = limit.map_or_else(String::new, |limit| format!("{:.0} %", 100.0 * limit / ours));
        let goal = format!("goal {}: {}", figure.goal, shown(goal));
        let limit = format!("limit {}: {}", figure.limit, shown(limit));
        Some(vec![figure.title.to_owned(), format_seconds(ours), goal, verdict, limit, share])
    };
    figures().into_iter().filter_map(row).collect()
}

/// Each profiled kernel's cycles, clock rate and duration. If a launch has several steps, also the
/// cycles per step.
fn counted(counters: &Map<String, Value>) -> impl Iterator<Item = Vec<String>> {
    counters.iter().filter_map(|(name, value)| {
        let metric = |name: &str| {
            let metric = value.get("metrics")?.get(name)?;
            Some((metric["value"].as_f64()?, metric["unit"].as_str().unwrap_or_default().to_owned()))
        };
        let (cycles, _) = metric("Elapsed Cycles")?;
        let steps = if name.starts_with("network_train_") { COUNTED_STEPS } else { 1 };
        let per_step = match steps {
            1 => String::new(),
            _ => format!(" ({:.0} of each of {steps} steps)", cycles / f64::from(steps)),
        };
        let also =
            ["SM Frequency", "Duration"].map(|name| metric(name).map(|(value, unit)| format!(", {value} {unit}")));
        let also: String = also.into_iter().flatten().collect();
        Some(vec![name.clone(), format!("{cycles:.0} cycles{per_step}{also}")])
    })
}

/// The results as tables.
pub(super) fn text(results: &Results) -> String {
    let mut text = String::new();
    if results.is_emulated() {
        let _ = writeln!(text, "{EMULATED}");
    }
    let (machine, made) = (&results.machine, &results.made);
    let _ = writeln!(text, "[*] {}; {}, {} threads", results.gpu, machine.processor, machine.threads);
    let _ = writeln!(text, "[*] commit {}, trained on {}", made.commit, made.images);
    for facts in &results.runs {
        let within = facts.within.map(|within| format!(" of {within:.0} s")).unwrap_or_default();
        let _ =
            writeln!(text, "[*] {:.0} s{within}; clocks {} before, {} after", facts.seconds, facts.before, facts.after);
    }
    for line in starts(&results.starts) {
        let _ = writeln!(text, "{line}");
    }
    for (heading, outcomes) in [("tests", &results.tests), ("compute-sanitizer", &results.sanitizer)] {
        section(&mut text, heading, outcomes.iter().map(|(name, outcome)| vec![name.clone(), outcome.to_string()]));
    }
    section(&mut text, "starts without times", without_times(&results.starts));
    section(&mut text, "programs without times", without_times(&results.programs));
    if let Some(table) = ratios::table(results) {
        let _ = write!(text, "\n{table}");
    }
    let skipped = results.peers.iter().flat_map(|(name, value)| {
        python::skipped(value).into_iter().map(move |(label, reason)| vec![name.clone(), label, reason])
    });
    section(&mut text, "peers without times", skipped);
    section(&mut text, "sweep", without_times(&results.sweep).chain(swept(&results.sweep)));
    section(&mut text, "Nsight Compute", without_times(&results.counters).chain(counted(&results.counters)));
    section(&mut text, "goals", goals(results).into_iter());
    section(&mut text, "not run", results.not_run.iter().map(|name| vec![name.clone()]));
    if !results.not_run.is_empty() {
        let _ = writeln!(text, "[*] {NEXT}");
    }
    text
}

/// A heading with aligned lines. Empty if there are no lines.
fn section(text: &mut String, heading: &str, lines: impl Iterator<Item = Vec<String>>) {
    let lines: Vec<_> = lines.collect();
    if !lines.is_empty() {
        let _ = write!(text, "\n{heading}\n{}", aligned(&lines));
    }
}

fn without_times(programs: &Map<String, Value>) -> impl Iterator<Item = Vec<String>> {
    programs.iter().filter_map(|(name, value)| {
        let word = ["failed", "skipped"].into_iter().find(|word| value.get(word).is_some())?;
        Some(vec![name.clone(), format!("{word}: {}", value[word].as_str().unwrap_or("for an unknown reason"))])
    })
}

/// A line for each time of the sweep: the minimum, and its cycles at the measured clock rate.
fn swept(sweep: &Map<String, Value>) -> impl Iterator<Item = Vec<String>> {
    let times = |part: &'static str| -> Vec<Vec<String>> {
        let Some(value) = sweep.get(part) else { return Vec::new() };
        let clock = value.get("clock_hz").and_then(Value::as_f64);
        let cycles = |seconds: f64| clock.map(|clock| format!(" ({:.0} cycles)", seconds * clock)).unwrap_or_default();
        let seconds = value.get("seconds").and_then(Value::as_object);
        let lines = seconds.into_iter().flatten().filter_map(|(name, times)| {
            let min = times.get("min")?.as_f64()?;
            Some(vec![part.to_owned(), name.clone(), format_seconds(min) + &cycles(min)])
        });
        lines.collect()
    };
    MACHINE_PARTS.into_iter().chain(STEP_PARTS).flat_map(times)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::gpu_check::machine::Machine;
    use crate::gpu_check::results::{Made, Outcome, RunFacts};

    fn results() -> Results {
        let machine = Machine { processor: "A processor".to_owned(), threads: 16, ..Machine::default() };
        let made = Made { commit: "abc".to_owned(), images: "MNIST".to_owned(), ..Made::default() };
        let mut results = Results::new("NVIDIA H200, 580".to_owned(), machine, made);
        for within in [Some(480.0), None] {
            let (before, after) = ("345 MHz".to_owned(), "1980 MHz".to_owned());
            results.runs.push(RunFacts { within, seconds: 12.0, before, after });
        }
        results.not_run = vec!["peers max".to_owned(), "memcheck gpu_sweep".to_owned()];
        results.starts.insert(SWEEP.to_owned(), json!({ "seconds": [3.5, 0.5] }));
        results.tests.insert("on_a_gpu".to_owned(), Outcome::Passed { seconds: 1.5 });
        let reason = "killed at its time limit, after 60 s".to_owned();
        results.tests.insert("other".to_owned(), Outcome::Failed { seconds: 60.0, reason });
        let times = json!({ "min": 0.0002, "median": 0.0003, "repeats": 5 });
        results.programs.insert("max".to_owned(), json!({ "failed": "exit status: 1: no GPU" }));
        let matmul = json!({ "seconds": { "cuda_kernel_9_one_block__tensor_cores": times } });
        results.programs.insert("matmul_f32".to_owned(), matmul);
        let step = "step_in_one_launch__network_train_cluster__16_blocks";
        let step = json!({ "seconds": { step: { "min": 6.4e-6, "median": 7e-6, "repeats": 5 } } });
        results.sweep.insert("persistent".to_owned(), step);
        let latency = json!({ "clock_hz": 1e9, "seconds": { "empty_launch": times } });
        results.sweep.insert("latency".to_owned(), latency);
        results.sweep.insert("steps".to_owned(), json!({ "skipped": "the deadline was reached" }));
        let skipped = json!({ "Numba": "it is not installed" });
        let peers = json!({ "peer": "CuPy 14", "seconds": { "kernel": { "CuPy": times } }, "skipped": skipped });
        results.peers.insert("matmul_f32".to_owned(), peers);
        let graphs = json!({ "PyTorch CUDA graphs, batch 16": { "min": 6e-5, "median": 7e-5, "repeats": 3 } });
        let peers = json!({ "peer": "PyTorch 2.11", "seconds": { "step": graphs }, "skipped": {} });
        results.peers.insert("network".to_owned(), peers);
        let metric = |value: f64, unit: &str| json!({ "value": value, "unit": unit });
        let metrics = json!({ "Elapsed Cycles": metric(320_000.0, "cycle"), "SM Frequency": metric(1.75, "Ghz") });
        results.counters.insert("network_train_cluster".to_owned(), json!({ "metrics": metrics, "remarks": [] }));
        results
    }

    #[test]
    fn gpu_check_shows_what_failed_and_which_goals_are_reached() {
        let expected = "\
[*] NVIDIA H200, 580; A processor, 16 threads
[*] commit abc, trained on MNIST
[*] 12 s of 480 s; clocks 345 MHz before, 1980 MHz after
[*] 12 s; clocks 345 MHz before, 1980 MHz after
[*] starts: gpu_sweep 3.50 s, then 0.50 s; the driver keeps compiled kernels

tests
on_a_gpu  passed in 1.5 s
other     failed: killed at its time limit, after 60 s

programs without times
max  failed: exit status: 1: no GPU

[*] CuPy 14, PyTorch 2.11
work                                           threads  ours      peer                           peer time  ratio  median
training step, 784-128-64-10, batch 16         -        6.400 µs  PyTorch CUDA graphs, batch 16  60.00 µs   0.107  0.100
X·Xᵀ 784×128 f32, kernel                       -        200.0 µs  CuPy                           200.0 µs   1.000  1.000
X·Xᵀ 784×128 f32, all multiprocessors, kernel  -        -         CuPy                           -          -      -       our program has no time
X·Xᵀ 784×128 f32, tensor cores, kernel         -        -         CuPy                           -          -      -       our program has no time
[*] ratio: ours / peer, the fastest of all repeats each; below 1, ours is faster. median: of the medians.

peers without times
matmul_f32  Numba  it is not installed

sweep
steps       skipped: the deadline was reached
latency     empty_launch                                          200.0 µs (200000 cycles)
persistent  step_in_one_launch__network_train_cluster__16_blocks  6.400 µs

Nsight Compute
network_train_cluster  320000 cycles (10000 of each of 32 steps), 1.75 Ghz

goals
training step, 784-128-64-10, batch 16  6.400 µs  goal 0.05 of PyTorch CUDA graphs, batch 16: 3.000 µs  short by a factor of 2.13  limit 2 exchanges of 16 blocks and 245 products of tiles and 55.0 · 10³ multiply-adds of one multiprocessor: -
X·Xᵀ 784×128 f32, kernel                200.0 µs  goal 26 of CuPy: 5.200 ms                             reached                    limit 117600 products of tiles: -

not run
peers max
memcheck gpu_sweep
[*] run the rest, in the same folder with its gpu-check.json: sh run.sh --resume (on Windows .\\run.cmd --resume)
";
        assert_eq!(text(&results()), expected);
    }

    #[test]
    fn gpu_check_marks_and_does_not_judge_what_the_emulator_ran() {
        let emulated = Results { gpu: "CUDA emulator (sm_90, interpreted by the CPU)".to_owned(), ..results() };
        assert!(text(&emulated).starts_with(&format!("{EMULATED}\n[*] CUDA emulator (sm_90, ")));
        assert!(text(&results()).contains("\ngoals\n") && !text(&emulated).contains("\ngoals\n"));
    }
}
