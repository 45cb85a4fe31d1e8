//! `--read FILE`: the results as tables, with the goals that are reached or missed.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Map, Value};
use timing::program::CHECK_FAILED;
use timing::{format_seconds, say};

use super::ratios::{self, Ours};
use super::results::Results;
use crate::peers::table::aligned;

/// Optimiser steps of an epoch of the homework: 50,000 images in batches of 16.
const STEPS_OF_EPOCH: f64 = 3125.0;

/// What a time must not exceed.
struct Goal {
    title: &'static str,
    program: &'static str,
    ours: Ours,
    /// The time is divided by this.
    divisor: f64,
    seconds: f64,
}

const GOALS: [Goal; 2] = [
    Goal {
        title: "training step, 784-128-64-10, batch 16",
        program: "network",
        ours: Ours::Epoch,
        divisor: STEPS_OF_EPOCH,
        seconds: 9.5e-6,
    },
    Goal {
        title: "X·Xᵀ 784×128 f32, kernel",
        program: "matmul_f32",
        ours: Ours::Key("cuda_kernel_5_wide__buffered"),
        divisor: 1.0,
        seconds: 0.28e-3,
    },
];

/// Prints the results in `file`; exit code 1 if a check failed there.
///
/// # Errors
/// If the file is no result of gpu-check.
pub(super) fn print(file: &Path) -> Result<ExitCode> {
    let results = Results::read(file)?;
    say!("{}", text(&results).trim_end());
    Ok(if results.all_passed { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

fn text(results: &Results) -> String {
    let mut text = String::new();
    let (machine, made) = (&results.machine, &results.made);
    let _ = writeln!(text, "[*] {}; {}, {} threads", results.gpu, machine.processor, machine.threads);
    let _ = writeln!(text, "[*] commit {}, trained on {}", made.commit, made.images);
    for (name, facts) in &results.phases {
        let _ =
            writeln!(text, "[*] {name}: {:.1} s; clocks {} before, {} after", facts.seconds, facts.before, facts.after);
    }
    for (heading, outcomes) in [("tests", &results.tests), ("compute-sanitizer", &results.sanitizer)] {
        section(&mut text, heading, outcomes.iter().map(|(name, outcome)| vec![name.clone(), outcome.to_string()]));
    }
    section(&mut text, "programs without times", without_times(&results.programs));
    let rows = ratios::rows(&results.programs, &results.peers);
    if let Some(table) = ratios::table(&rows, &results.programs, &results.peers) {
        let _ = write!(text, "\n{table}");
    }
    section(&mut text, "sweep", swept(&results.sweep));
    section(&mut text, "goals", goals(&results.programs));
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

/// A line for each time of the sweep, the minimum, and for each part that has none.
fn swept(sweep: &Map<String, Value>) -> impl Iterator<Item = Vec<String>> {
    let times = |(part, value): (&String, &Value)| -> Vec<Vec<String>> {
        let seconds = value.get("seconds").and_then(Value::as_object);
        let lines = seconds.into_iter().flatten().filter_map(|(name, times)| {
            Some(vec![part.clone(), name.clone(), format_seconds(times.get("min")?.as_f64()?)])
        });
        lines.collect()
    };
    without_times(sweep).chain(sweep.iter().flat_map(times).collect::<Vec<_>>())
}

fn goals(programs: &Map<String, Value>) -> impl Iterator<Item = Vec<String>> {
    GOALS.iter().map(|goal| {
        let (measured, verdict) = match goal.ours.find(programs, goal.program) {
            None => ("-".to_owned(), "not measured".to_owned()),
            Some(measurement) => {
                let seconds = measurement.min / goal.divisor;
                let verdict = if seconds <= goal.seconds {
                    "reached".to_owned()
                } else {
                    format!("short by a factor of {:.2}", seconds / goal.seconds)
                };
                (format_seconds(seconds), verdict)
            }
        };
        vec![goal.title.to_owned(), measured, format!("goal {}", format_seconds(goal.seconds)), verdict]
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::gpu_check::machine::Machine;
    use crate::gpu_check::results::{Made, Outcome, PhaseFacts};

    #[test]
    fn gpu_check_shows_what_failed_and_which_goals_are_reached() {
        let machine = Machine { processor: "A processor".to_owned(), threads: 16, ..Machine::default() };
        let made = Made { commit: "abc".to_owned(), images: "MNIST".to_owned(), ..Made::default() };
        let mut results = Results::new("NVIDIA H200, 580".to_owned(), machine, made);
        results.phases.insert(
            "tests".to_owned(),
            PhaseFacts { seconds: 12.0, before: "345 MHz".to_owned(), after: "1980 MHz".to_owned() },
        );
        results.tests.insert("on_a_gpu".to_owned(), Outcome::Passed { seconds: 1.5 });
        let reason = "killed at its time limit, after 60 s".to_owned();
        results.tests.insert("other".to_owned(), Outcome::Failed { seconds: 60.0, reason });
        let times = json!({ "min": 0.0002, "median": 0.0003, "repeats": 5 });
        results.programs.insert("max".to_owned(), json!({ "failed": "exit status: 1: no GPU" }));
        let matmul = json!({ "seconds": { "cuda_kernel_5_wide__buffered": times } });
        results.programs.insert("matmul_f32".to_owned(), matmul);
        let epochs = json!({ "epochs": [{ "seconds": 0.0625, "accuracy": 0.9 }] });
        results.programs.insert("network".to_owned(), epochs);
        results.sweep.insert("latency".to_owned(), json!({ "seconds": { "empty launch": times } }));
        results.sweep.insert("steps".to_owned(), json!({ "skipped": "the phase's 540 s were over" }));
        let expected = "\
[*] NVIDIA H200, 580; A processor, 16 threads
[*] commit abc, trained on MNIST
[*] tests: 12.0 s; clocks 345 MHz before, 1980 MHz after

tests
on_a_gpu  passed in 1.5 s
other     failed: killed at its time limit, after 60 s

programs without times
max  failed: exit status: 1: no GPU

sweep
steps    skipped: the phase's 540 s were over
latency  empty launch                          200.0 µs

goals
training step, 784-128-64-10, batch 16  20.00 µs  goal 9.500 µs  short by a factor of 2.11
X·Xᵀ 784×128 f32, kernel                200.0 µs  goal 280.0 µs  reached
";
        assert_eq!(text(&results), expected);
    }
}
