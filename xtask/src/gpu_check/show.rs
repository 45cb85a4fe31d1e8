//! The results as a reader sees them: a call's verdict, and `--read FILE`, all of them as tables with the goals.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use command_line::CHECK_FAILED;
use command_line::say;
use serde_json::{Map, Value};
use timing::{Measurement, format_seconds};

use super::figures::{Figure, figures};
use super::plan::{COUNTED_STEPS, Call, LATENCY, SWEEP, SWEEP_PARTS};
use super::python;
use super::ratios;
use super::results::{FILE, Outcome, Results};
use crate::peers::comparison;
use crate::peers::table::aligned;

/// Maximum number of lines of a verdict, and of characters of a line.
pub(super) const MAX_LINES: usize = 20;
const MAX_CHARACTERS: usize = 200;
/// The second start of a program is faster by at least this share where the driver keeps compiled kernels.
const CACHED_SHARE: f64 = 0.5;
/// First line of a verdict and of the tables where the driver was the emulator.
const EMULATED: &str = "[*] the driver is the emulator: no time here is a GPU's";

/// Prints the results in `file`; exit code 1 if a check failed there.
///
/// # Errors
/// If the file is no result of gpu-check.
pub(super) fn print(file: &Path) -> Result<ExitCode> {
    let results = Results::read(file)?;
    say!("{}", text(&results).trim_end());
    Ok(if results.all_passed { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// What a call has shown, in at most [`MAX_LINES`] lines: what failed first, then its figures.
pub(super) fn verdict(call: Call, results: &Results) -> Vec<String> {
    let mut failed = Vec::from_iter(results.is_emulated().then(|| EMULATED.to_owned()));
    let mut lines = Vec::new();
    match call {
        Call::First => {
            lines.push(format!("[*] {}; commit {}", results.gpu, results.made.commit));
            failures_of(&results.starts, "start of ", &mut failed);
            failures_of(&results.sweep, "gpu_sweep ", &mut failed);
            outcomes(&results.tests, "test", &mut failed, &mut lines);
            lines.extend(starts(&results.starts));
            lines.extend(
                figures().iter().filter(|figure| figure.peers.is_none()).filter_map(|figure| goal(figure, results)),
            );
            let (latencies, steps): (Vec<_>, Vec<_>) = swept(&results.sweep).partition(|cells| cells[0] == LATENCY);
            let shown = |cells: &Vec<String>| format!("{}: {}", cells[1], cells[2]);
            lines.extend(steps.iter().map(|cells| format!("[*] {}", shown(cells))));
            // Two in a line.
            let pair = |pair: &[Vec<String>]| pair.iter().map(shown).collect::<Vec<_>>().join("; ");
            lines.extend(latencies.chunks(2).map(|cells| format!("[*] {}", pair(cells))));
        }
        Call::Times => {
            failures_of(&results.programs, "", &mut failed);
            let measured = |figure: &Figure| {
                let measurement = figure.ours.find(results)?;
                let shown = || format!("[*] {}: {}", figure.title, format_seconds(measurement.min));
                Some(goal(figure, results).unwrap_or_else(shown))
            };
            lines.extend(figures().iter().filter(|figure| figure.peers.is_some()).filter_map(measured));
        }
        Call::Counters => {
            failures_of(&results.counters, "ncu ", &mut failed);
            lines.extend(counted(&results.counters).map(|cells| format!("[*] {}: {}", cells[0], cells[1])));
        }
        Call::Sanitizer => outcomes(&results.sanitizer, "sanitizer run", &mut failed, &mut lines),
        Call::Peers => {
            lines.extend(figures().iter().filter_map(|figure| beside_the_fastest_peer(figure, results)));
            lines.extend(ratios::bandwidth(results));
            for (name, value) in &results.peers {
                let skipped = python::skipped(value).into_iter();
                lines.extend(skipped.map(|(label, reason)| format!("[*] skipped: {name}, {label}: {reason}")));
            }
        }
    }
    if let Some(facts) = results.calls.get(call.name()) {
        let (name, before, after) = (call.name(), &facts.before, &facts.after);
        lines.push(format!("[*] {name}: {:.1} s; clocks {before} before, {after} after", facts.seconds));
    }
    failed.append(&mut lines);
    let more = failed.len().saturating_sub(MAX_LINES);
    if more > 0 {
        failed.truncate(MAX_LINES - 1);
        failed.push(format!("[*] {} lines more are in {FILE}", more + 1));
    }
    failed.iter().map(|line| line.chars().take(MAX_CHARACTERS).collect()).collect()
}

/// The reason why an item has no result of its own.
pub(super) fn problem(value: &Value) -> Option<&str> {
    value.get("failed").or(value.get("skipped")).and_then(Value::as_str)
}

/// A line for each item that failed or was skipped.
fn failures_of(items: &Map<String, Value>, kind: &str, lines: &mut Vec<String>) {
    for (name, value) in items {
        if let Some(reason) = problem(value) {
            let sign = if value.get("skipped").is_some() { '*' } else { '-' };
            lines.push(format!("[{sign}] {kind}{name}: {reason}"));
        }
    }
}

/// A line for each outcome that is no pass, and one that counts them.
fn outcomes<'a>(
    items: impl IntoIterator<Item = (&'a String, &'a Outcome)>,
    kind: &str,
    failed: &mut Vec<String>,
    lines: &mut Vec<String>,
) {
    let mut counts = [0; 3];
    for (name, outcome) in items {
        let index = match outcome {
            Outcome::Passed { .. } => 0,
            Outcome::Failed { .. } => 1,
            Outcome::Skipped { .. } => 2,
        };
        counts[index] += 1;
        if index > 0 {
            failed.push(format!("[{}] {name} {outcome}", if index == 1 { '-' } else { '*' }));
        }
    }
    let [passed, failures, skipped] = counts;
    let sign = if failures == 0 { '+' } else { '-' };
    lines.push(format!("[{sign}] {kind}s: {passed} passed, {failures} failed, {skipped} skipped"));
}

/// The seconds of each program's two starts, and whether the driver keeps what it compiles.
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

/// The figure beside its goal, if it has both.
fn goal(figure: &Figure, results: &Results) -> Option<String> {
    let [measured, goal, verdict] = goal_cells(figure, results)?;
    (measured != "-").then(|| format!("[*] {}: {measured}, {goal}: {verdict}", figure.title))
}

/// The measured time, the goal and the verdict; None without a goal.
fn goal_cells(figure: &Figure, results: &Results) -> Option<[String; 3]> {
    let goal = figure.goal?;
    let (measured, verdict) = match figure.ours.find(results) {
        None => ("-".to_owned(), "not measured".to_owned()),
        Some(Measurement { min, .. }) if min <= goal => (format_seconds(min), "reached".to_owned()),
        Some(Measurement { min, .. }) => (format_seconds(min), format!("short by a factor of {:.2}", min / goal)),
    };
    Some([measured, format!("goal {}", format_seconds(goal)), verdict])
}

/// Our time beside that of the fastest peer.
fn beside_the_fastest_peer(figure: &Figure, results: &Results) -> Option<String> {
    let compared = ratios::rows_of(figure, results).into_iter().filter_map(|row| match row.outcome {
        comparison::Outcome::Compared(comparison) => Some((row.peer.unwrap_or_default(), comparison)),
        comparison::Outcome::Missing { .. } => None,
    });
    let (peer, comparison) = compared.min_by(|(_, a), (_, b)| a.peer_seconds.total_cmp(&b.peer_seconds))?;
    let (ours, theirs) = (format_seconds(comparison.ours_seconds), format_seconds(comparison.peer_seconds));
    Some(format!("[*] {}: {ours}; {peer} {theirs}; ratio {:.3}", figure.title, comparison.ratio))
}

/// Each counted kernel's cycles, also by step where a launch has several, the clock rate and the duration.
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

fn text(results: &Results) -> String {
    let mut text = String::new();
    if results.is_emulated() {
        let _ = writeln!(text, "{EMULATED}");
    }
    let (machine, made) = (&results.machine, &results.made);
    let _ = writeln!(text, "[*] {}; {}, {} threads", results.gpu, machine.processor, machine.threads);
    let _ = writeln!(text, "[*] commit {}, trained on {}", made.commit, made.images);
    for (name, facts) in &results.calls {
        let _ =
            writeln!(text, "[*] {name}: {:.1} s; clocks {} before, {} after", facts.seconds, facts.before, facts.after);
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
    section(&mut text, "sweep", without_times(&results.sweep).chain(swept(&results.sweep)));
    section(&mut text, "Nsight Compute", without_times(&results.counters).chain(counted(&results.counters)));
    let goals = figures();
    let goals = goals.iter().filter_map(|figure| {
        let cells = goal_cells(figure, results)?;
        Some(std::iter::once(figure.title.to_owned()).chain(cells).collect())
    });
    section(&mut text, "goals", goals);
    text
}

/// A heading with aligned lines; nothing where there are no lines.
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

/// A line for each time of the sweep, the minimum, also in cycles of the measured clock rate.
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
    SWEEP_PARTS.into_iter().flat_map(times)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::gpu_check::machine::Machine;
    use crate::gpu_check::results::{CallFacts, Made};

    fn results() -> Results {
        let machine = Machine { processor: "A processor".to_owned(), threads: 16, ..Machine::default() };
        let made = Made { commit: "abc".to_owned(), images: "MNIST".to_owned(), ..Made::default() };
        let mut results = Results::new("NVIDIA H200, 580".to_owned(), machine, made);
        for call in [Call::First, Call::Peers] {
            let facts = CallFacts { seconds: 12.0, before: "345 MHz".to_owned(), after: "1980 MHz".to_owned() };
            results.calls.insert(call.name().to_owned(), facts);
        }
        results.starts.insert(SWEEP.to_owned(), json!({ "seconds": [3.5, 0.5] }));
        results.tests.insert("on_a_gpu".to_owned(), Outcome::Passed { seconds: 1.5 });
        let reason = "killed at its time limit, after 60 s".to_owned();
        results.tests.insert("other".to_owned(), Outcome::Failed { seconds: 60.0, reason });
        let times = json!({ "min": 0.0002, "median": 0.0003, "repeats": 5 });
        results.programs.insert("max".to_owned(), json!({ "failed": "exit status: 1: no GPU" }));
        let matmul = json!({ "seconds": { "cuda_kernel_6_resident": times } });
        results.programs.insert("matmul_f32".to_owned(), matmul);
        let step = "step_in_one_launch__network_train_cluster__16_blocks";
        let step = json!({ "seconds": { step: { "min": 6.4e-6, "median": 7e-6, "repeats": 5 } } });
        results.sweep.insert("persistent".to_owned(), step);
        let latency = json!({ "clock_hz": 1e9, "seconds": { "empty_launch": times } });
        results.sweep.insert("latency".to_owned(), latency);
        results.sweep.insert("steps".to_owned(), json!({ "skipped": "the call's 450 s were over" }));
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
[*] first: 12.0 s; clocks 345 MHz before, 1980 MHz after
[*] peers: 12.0 s; clocks 345 MHz before, 1980 MHz after
[*] starts: gpu_sweep 3.50 s, then 0.50 s; the driver keeps compiled kernels

tests
on_a_gpu  passed in 1.5 s
other     failed: killed at its time limit, after 60 s

programs without times
max  failed: exit status: 1: no GPU

sweep
steps       skipped: the call's 450 s were over
persistent  step_in_one_launch__network_train_cluster__16_blocks  6.400 µs
latency     empty_launch                                          200.0 µs (200000 cycles)

Nsight Compute
network_train_cluster  320000 cycles (10000 of each of 32 steps), 1.75 Ghz

goals
training step, 784-128-64-10, batch 16  6.400 µs  goal 3.200 µs  short by a factor of 2.00
X·Xᵀ 784×128 f32, kernel                200.0 µs  goal 280.0 µs  reached
";
        assert_eq!(text(&results()), expected);
    }

    #[test]
    fn gpu_checks_verdict_begins_with_what_failed() {
        let expected = [
            "[*] gpu_sweep steps: the call's 450 s were over",
            "[-] other failed: killed at its time limit, after 60 s",
            "[*] NVIDIA H200, 580; commit abc",
            "[-] tests: 1 passed, 1 failed, 0 skipped",
            "[*] starts: gpu_sweep 3.50 s, then 0.50 s; the driver keeps compiled kernels",
            "[*] training step, 784-128-64-10, batch 16: 6.400 µs, goal 3.200 µs: short by a factor of 2.00",
            "[*] step_in_one_launch__network_train_cluster__16_blocks: 6.400 µs",
            "[*] empty_launch: 200.0 µs (200000 cycles)",
            "[*] first: 12.0 s; clocks 345 MHz before, 1980 MHz after",
        ];
        assert_eq!(verdict(Call::First, &results()), expected);
        let expected =
            ["[-] max: exit status: 1: no GPU", "[*] X·Xᵀ 784×128 f32, kernel: 200.0 µs, goal 280.0 µs: reached"];
        assert_eq!(verdict(Call::Times, &results()), expected);
        let expected = ["[*] network_train_cluster: 320000 cycles (10000 of each of 32 steps), 1.75 Ghz"];
        assert_eq!(verdict(Call::Counters, &results()), expected);
    }

    #[test]
    fn gpu_check_marks_and_does_not_judge_what_the_emulator_ran() {
        let emulated = Results { gpu: "CUDA emulator (sm_90, interpreted by the CPU)".to_owned(), ..results() };
        assert!(text(&emulated).starts_with(&format!("{EMULATED}\n[*] CUDA emulator (sm_90, ")));
        for call in [Call::First, Call::Times, Call::Counters, Call::Sanitizer, Call::Peers] {
            assert_eq!(verdict(call, &emulated)[0], EMULATED);
        }
        let judged = |results: &Results| verdict(Call::Times, results).concat().contains("goal");
        assert!(judged(&results()) && !judged(&emulated) && !text(&emulated).contains("reached"));
    }

    #[test]
    fn gpu_checks_verdict_compares_with_the_fastest_peer_in_twenty_lines() {
        let mut results = results();
        let seconds = |seconds: f64| json!({ "min": seconds, "median": seconds, "repeats": 3 });
        let kernel = json!({ "CuPy": seconds(0.0004), "PyTorch": seconds(0.0001) });
        let mut skipped: Map<String, Value> =
            (0..30).map(|i| (format!("library {i}"), json!("x".repeat(500)))).collect();
        skipped.insert("Numba".to_owned(), json!("it is not installed"));
        let peers = json!({ "peer": "CuPy 14", "seconds": { "kernel": kernel }, "skipped": skipped });
        results.peers.insert("matmul_f32".to_owned(), peers);
        let lines = verdict(Call::Peers, &results);
        assert_eq!(lines[0], "[*] X·Xᵀ 784×128 f32, kernel: 200.0 µs; PyTorch 100.0 µs; ratio 2.000");
        assert_eq!(lines[1], "[*] skipped: matmul_f32, Numba: it is not installed");
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines[MAX_LINES - 1], "[*] 14 lines more are in gpu-check.json");
        assert!(lines.iter().all(|line| line.chars().count() <= MAX_CHARACTERS));
    }
}
