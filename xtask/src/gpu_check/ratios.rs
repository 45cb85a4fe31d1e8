//! Ours beside the peers on the same GPU, from one run's figures.

use serde::Deserialize;
use serde_json::{Map, Value};
use timing::Measurement;

use super::python::{ScriptOutput, Times};
use crate::peers::comparison::{Comparison, Outcome, Row};
use crate::peers::table;

const MEANING: &str =
    "ratio: ours / peer, the fastest of all repeats each; below 1, ours is faster. median: of the medians.";

/// The runs of our program that train the homework's network, from one seed each.
const TRAININGS: [&str; 3] = ["network", "network_seed_1", "network_seed_2"];
/// The validation accuracy that ends the time of a training.
const TARGET: f64 = 0.95;
/// What the fused activation reads and writes of each of the n: two numbers and one.
const FUSED_BYTES: f64 = 12.0;

/// How our time is read from the programs' JSON.
pub(super) enum Ours {
    /// By this key among the seconds of the run of that name.
    Key(&'static str),
    /// Every epoch of the trainings.
    Epoch,
    /// Of each training the epochs until the first with the target's validation accuracy.
    ToTarget,
}

/// What is compared: the run's name, what the script calls it, its name in the table, and our time.
const COMPARED: [(&str, &str, &str, Ours); 12] = [
    ("max", "kernel", "max 1000×1000 i32, kernel", Ours::Key("cuda_kernel")),
    ("max", "with copies", "max 1000×1000 i32, with copies", Ours::Key("cuda")),
    ("matmul_f32", "kernel", "X·Xᵀ 784×128 f32, kernel", Ours::Key("cuda_kernel_6_resident")),
    ("matmul_f32", "with copies", "X·Xᵀ 784×128 f32, with copies", Ours::Key("cuda")),
    ("matmul_f64", "kernel", "X·Xᵀ 784×128 f64, kernel", Ours::Key("cuda_kernel_5_wide__buffered")),
    ("matmul_f64", "with copies", "X·Xᵀ 784×128 f64, with copies", Ours::Key("cuda")),
    ("activation", "three steps", "activation 10⁶, three kernels", Ours::Key("cuda_three_launches_kernel")),
    ("activation", "fused", "activation 10⁶, fused kernel", Ours::Key("cuda_fused_kernel")),
    ("activation_100_million", "three steps", "activation 10⁸, three kernels", Ours::Key("cuda_three_launches_kernel")),
    ("activation_100_million", "fused", "activation 10⁸, fused kernel", Ours::Key("cuda_fused_kernel")),
    ("network", "epoch", "epoch of 50000 images", Ours::Epoch),
    ("network", "to 95 %", "training to 95 %", Ours::ToTarget),
];

/// One row for each time of a peer, beside ours of the same run.
pub(super) fn rows(programs: &Map<String, Value>, peers: &Map<String, Value>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, group, title, ours) in &COMPARED {
        let Some(output) = output(peers, name) else { continue };
        let ours = ours.find(programs, name);
        for (label, peer) in output.seconds.get(*group).into_iter().flatten() {
            let outcome = match (&ours, measurement(peer)) {
                (Some(ours), Some(peer)) => Outcome::Compared(Comparison::of_measurements(ours, &peer)),
                (None, _) => Outcome::Missing { reason: "our program has no time".to_owned() },
                (_, None) => Outcome::Missing { reason: "the script has no time".to_owned() },
            };
            rows.push(Row {
                work: (*title).to_owned(),
                threads: None,
                peer: Some(label.clone()),
                target: None,
                outcome,
            });
        }
    }
    rows
}

/// The rows as a table, and the share of the memory's bandwidth that our fused activation reaches; None without a row.
pub(super) fn table(rows: &[Row], programs: &Map<String, Value>, peers: &Map<String, Value>) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let mut names = Vec::new();
    for output in peers.keys().filter_map(|name| output(peers, name)) {
        for name in output.peer.split(", ").filter(|name| !name.is_empty()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    let mut text = table::render(rows, &names, MEANING);
    for name in ["activation", "activation_100_million"] {
        text.extend(bandwidth(programs, peers, name));
    }
    Some(text)
}

/// A line about the bytes that our fused kernel moves in a second, beside a copy of as many numbers.
fn bandwidth(programs: &Map<String, Value>, peers: &Map<String, Value>, name: &str) -> Option<String> {
    let number = programs.get(name)?["n"].as_f64()?;
    let fused = Ours::Key("cuda_fused_kernel").find(programs, name)?.min;
    let ours = FUSED_BYTES * number / fused;
    let copy = output(peers, name)?.copy_bytes_per_second.into_values().max_by(f64::total_cmp)?;
    let (shown_ours, shown_copy) = (ours / 1e9, copy / 1e9);
    let share = 100.0 * ours / copy;
    Some(format!(
        "[*] activation, n = {number}: our fused kernel moves {shown_ours:.0} GB/s, {share:.0} % of a copy's {shown_copy:.0} \
         GB/s\n"
    ))
}

fn output(peers: &Map<String, Value>, name: &str) -> Option<ScriptOutput> {
    ScriptOutput::deserialize(peers.get(name)?).ok()
}

/// The times, if they can be divided by.
fn measurement(times: &Times) -> Option<Measurement> {
    let Times { min, median, repeats } = *times;
    let positive = |seconds: f64| seconds.is_finite() && seconds > 0.0;
    (positive(min) && positive(median)).then_some(Measurement { min, median, repeats })
}

impl Ours {
    /// The time in the results of the programs, of the run of that name.
    pub(super) fn find(&self, programs: &Map<String, Value>, name: &str) -> Option<Measurement> {
        let histories = || TRAININGS.iter().filter_map(|name| history(programs.get(*name)?));
        match self {
            Self::Key(key) => measurement(&Times::deserialize(&programs.get(name)?["seconds"][key]).ok()?),
            Self::Epoch => Measurement::of(histories().flatten().map(|epoch| epoch.seconds).collect()),
            Self::ToTarget => {
                // A training that misses the target has no time, and leaving it out would make the others' look better.
                Measurement::of(histories().map(|history| seconds_to_target(&history)).collect::<Option<_>>()?)
            }
        }
    }
}

/// An epoch in the JSON of `neural-net`; the accuracy is of the validation images.
#[derive(Clone, Copy, Deserialize)]
struct Epoch {
    seconds: f64,
    accuracy: f64,
}

fn history(program: &Value) -> Option<Vec<Epoch>> {
    Vec::deserialize(&program["epochs"]).ok()
}

fn seconds_to_target(history: &[Epoch]) -> Option<f64> {
    let epochs = 1 + history.iter().position(|epoch| epoch.accuracy >= TARGET)?;
    Some(history[..epochs].iter().map(|epoch| epoch.seconds).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(json: &str) -> Map<String, Value> {
        serde_json::from_str(json).unwrap()
    }

    const PROGRAMS: &str = r#"{
        "max": {"seconds": {"cuda_kernel": {"min": 4e-6, "median": 5e-6, "repeats": 20},
                            "cuda": {"min": 2e-3, "median": 2e-3, "repeats": 20}}},
        "matmul_f32": {"failed": "no GPU"},
        "activation": {"n": 1000000, "seconds": {"cuda_fused_kernel": {"min": 6e-6, "median": 6e-6, "repeats": 20}}},
        "network": {"epochs": [{"seconds": 0.25, "accuracy": 0.93}, {"seconds": 0.25, "accuracy": 0.95},
                               {"seconds": 0.25, "accuracy": 0.96}]},
        "network_seed_1": {"epochs": [{"seconds": 0.5, "accuracy": 0.96}, {"seconds": 0.25, "accuracy": 0.94}]}
    }"#;

    const PEERS: &str = r#"{
        "max": {"peer": "CuPy 14.2.0, PyTorch 2.11.0", "skipped": {"Numba": "No module named 'numba'"}, "seconds": {
            "kernel": {"CuPy": {"min": 5e-6, "median": 5e-6, "repeats": 20}, "PyTorch": {"min": 2e-6, "median": 4e-6, "repeats": 20}},
            "with copies": {"CuPy": {"min": 4e-3, "median": 4e-3, "repeats": 20}}}},
        "matmul_f32": {"peer": "CuPy 14.2.0", "skipped": {}, "seconds": {"kernel": {"CuPy": {"min": 1e-5, "median": 1e-5, "repeats": 20}}}},
        "activation": {"peer": "CuPy 14.2.0", "skipped": {}, "copy_bytes_per_second": {"CuPy": 2.5e12}, "seconds": {
            "fused": {"CuPy": {"min": 8e-6, "median": 8e-6, "repeats": 20}}}},
        "network": {"peer": "PyTorch 2.11.0", "skipped": {}, "best": "PyTorch eager, batch 16", "seconds": {
            "epoch": {"PyTorch eager, batch 16": {"min": 1.0, "median": 1.0, "repeats": 9}},
            "to 95 %": {"PyTorch eager, batch 16": {"min": 2.0, "median": 2.5, "repeats": 3}}}}
    }"#;

    #[test]
    fn gpu_check_prints_the_ratios_of_one_run() {
        let (programs, peers) = (object(PROGRAMS), object(PEERS));
        let rows = rows(&programs, &peers);
        let expected = "\
[*] CuPy 14.2.0, PyTorch 2.11.0
work                            threads  ours      peer                     peer time  ratio  median
max 1000×1000 i32, kernel       -        4.000 µs  CuPy                     5.000 µs   0.800  1.000
max 1000×1000 i32, kernel       -        4.000 µs  PyTorch                  2.000 µs   2.000  1.250   slower
max 1000×1000 i32, with copies  -        2.000 ms  CuPy                     4.000 ms   0.500  0.500
X·Xᵀ 784×128 f32, kernel        -        -         CuPy                     -          -      -       our program has no time
activation 10⁶, fused kernel    -        6.000 µs  CuPy                     8.000 µs   0.750  0.750
epoch of 50000 images           -        250.0 ms  PyTorch eager, batch 16  1.000 s    0.250  0.250
training to 95 %                -        500.0 ms  PyTorch eager, batch 16  2.000 s    0.250  0.200
[*] ratio: ours / peer, the fastest of all repeats each; below 1, ours is faster. median: of the medians.
[*] activation, n = 1000000: our fused kernel moves 2000 GB/s, 80 % of a copy's 2500 GB/s
";
        assert_eq!(table(&rows, &programs, &peers).unwrap(), expected);
        assert!(table(&[], &programs, &peers).is_none());
    }

    #[test]
    fn gpu_check_times_a_training_to_the_first_epoch_with_95_percent() {
        let epochs = |accuracies: &[f64]| -> Vec<Epoch> {
            accuracies.iter().map(|accuracy| Epoch { seconds: 0.5, accuracy: *accuracy }).collect()
        };
        assert_eq!(seconds_to_target(&epochs(&[0.96, 0.94])), Some(0.5));
        assert_eq!(seconds_to_target(&epochs(&[0.93, 0.9499, 0.95, 0.97])), Some(1.5));
        assert_eq!(seconds_to_target(&epochs(&[0.93, 0.94])), None);

        let missed = object(r#"{"network": {"epochs": [{"seconds": 1.0, "accuracy": 0.9}]}}"#);
        assert!(Ours::ToTarget.find(&missed, "network").is_none());
        assert!(Ours::Epoch.find(&missed, "network").is_some());
    }

    #[test]
    fn gpu_check_divides_by_no_time_of_zero() {
        let peers = object(
            r#"{"max": {"peer": "", "skipped": {}, "seconds": {"kernel": {"CuPy": {"min": 0.0, "median": 1.0, "repeats": 1}}}}}"#,
        );
        let rows = rows(&object(PROGRAMS), &peers);
        assert!(
            matches!(&rows[..], [Row { outcome: Outcome::Missing { reason }, .. }] if reason == "the script has no time")
        );
    }
}
