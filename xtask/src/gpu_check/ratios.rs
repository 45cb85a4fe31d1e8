//! Compares our times with the peers' on the same GPU, from one run's figures.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::figures::{Figure, figures};
use super::python::{ScriptOutput, Times};
use super::results::Results;
use crate::peers::comparison::{Comparison, Outcome, Row};
use crate::peers::table;

const MEANING: &str =
    "ratio: ours / peer, the fastest of all repeats each; below 1, ours is faster. median: of the medians.";

/// One row for each time of a peer, next to our time from the same run.
pub(super) fn rows(results: &Results) -> Vec<Row> {
    figures().iter().flat_map(|figure| rows_of(figure, results)).collect()
}

/// The rows of one figure.
pub(super) fn rows_of(figure: &Figure, results: &Results) -> Vec<Row> {
    let (script, group) = figure.peers;
    let Some(output) = output(&results.peers, script) else { return Vec::new() };
    let ours = figure.ours.find(results);
    let row = |(label, peer): (&String, &Times)| {
        let outcome = match (&ours, peer.measurement()) {
            (Some(ours), Some(peer)) => Outcome::Compared(Comparison::of_measurements(ours, &peer)),
            (None, _) => Outcome::Missing { reason: "our program has no time".to_owned() },
            (_, None) => Outcome::Missing { reason: "the script has no time".to_owned() },
        };
        Row { work: figure.title.to_owned(), threads: None, peer: Some(String::clone(label)), target: None, outcome }
    };
    output.seconds.get(group).into_iter().flatten().map(row).collect()
}

/// The rows as a table; `None` if there are none.
pub(super) fn table(results: &Results) -> Option<String> {
    let rows = rows(results);
    if rows.is_empty() {
        return None;
    }
    let mut names = Vec::new();
    for output in results.peers.keys().filter_map(|name| output(&results.peers, name)) {
        for name in output.peer.split(", ").filter(|name| !name.is_empty()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    Some(table::render(&rows, &names, MEANING))
}

fn output(peers: &Map<String, Value>, name: &str) -> Option<ScriptOutput> {
    ScriptOutput::deserialize(peers.get(name)?).ok()
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
        "activation": {"seconds": {"cuda_fused_kernel": {"min": 6e-6, "median": 6e-6, "repeats": 20}}},
        "network": {"epochs": [{"seconds": 0.25, "accuracy": 0.93}, {"seconds": 0.25, "accuracy": 0.95},
                               {"seconds": 0.25, "accuracy": 0.96}]},
        "network_seed_1": {"epochs": [{"seconds": 0.5, "accuracy": 0.96}, {"seconds": 0.25, "accuracy": 0.94}]}
    }"#;

    const PEERS: &str = r#"{
        "max": {"peer": "CuPy 14.2.0, PyTorch 2.11.0", "skipped": {"Numba": "No module named 'numba'"}, "seconds": {
            "kernel": {"CuPy": {"min": 5e-6, "median": 5e-6, "repeats": 20}, "PyTorch": {"min": 2e-6, "median": 4e-6, "repeats": 20}},
            "with copies": {"CuPy": {"min": 4e-3, "median": 4e-3, "repeats": 20}}}},
        "matmul_f32": {"peer": "CuPy 14.2.0", "skipped": {}, "seconds": {"kernel": {"CuPy": {"min": 1e-5, "median": 1e-5, "repeats": 20}}}},
        "activation": {"peer": "CuPy 14.2.0", "skipped": {}, "seconds": {
            "fused": {"CuPy": {"min": 8e-6, "median": 8e-6, "repeats": 20}}}},
        "network": {"peer": "PyTorch 2.11.0", "skipped": {}, "best": "PyTorch eager, batch 16", "seconds": {
            "epoch": {"PyTorch eager, batch 16": {"min": 1.0, "median": 1.0, "repeats": 9}},
            "to 95 %": {"PyTorch eager, batch 16": {"min": 2.0, "median": 2.5, "repeats": 3}}}}
    }"#;

    fn results(peers: &str) -> Results {
        let mut results = Results::new(String::new(), Default::default(), Default::default());
        (results.programs, results.peers) = (object(PROGRAMS), object(peers));
        results
    }

    #[test]
    fn gpu_check_prints_the_ratios_of_one_run() {
        let expected = "\
[*] CuPy 14.2.0, PyTorch 2.11.0
work                                           threads  ours      peer                     peer time  ratio  median
X·Xᵀ 784×128 f32, kernel                       -        -         CuPy                     -          -      -       our program has no time
X·Xᵀ 784×128 f32, all multiprocessors, kernel  -        -         CuPy                     -          -      -       our program has no time
X·Xᵀ 784×128 f32, tensor cores, kernel         -        -         CuPy                     -          -      -       our program has no time
max 1000×1000 i32, kernel                      -        4.000 µs  CuPy                     5.000 µs   0.800  1.000
max 1000×1000 i32, kernel                      -        4.000 µs  PyTorch                  2.000 µs   2.000  1.250   slower
max 1000×1000 i32, four elements a thread      -        -         CuPy                     -          -      -       our program has no time
max 1000×1000 i32, four elements a thread      -        -         PyTorch                  -          -      -       our program has no time
max 1000×1000 i32, with copies                 -        2.000 ms  CuPy                     4.000 ms   0.500  0.500
activation 10⁶, fused kernel                   -        6.000 µs  CuPy                     8.000 µs   0.750  0.750
epoch of 50000 images                          -        250.0 ms  PyTorch eager, batch 16  1.000 s    0.250  0.250
training to 95 %                               -        500.0 ms  PyTorch eager, batch 16  2.000 s    0.250  0.200
[*] ratio: ours / peer, the fastest of all repeats each; below 1, ours is faster. median: of the medians.
";
        assert_eq!(table(&results(PEERS)).unwrap(), expected);
        assert!(table(&results("{}")).is_none());
    }

    #[test]
    fn gpu_check_divides_by_no_time_of_zero() {
        let peers = r#"{"max": {"peer": "", "skipped": {}, "seconds": {"kernel": {"CuPy": {"min": 0.0, "median": 1.0, "repeats": 1}}}}}"#;
        let rows = rows(&results(peers));
        assert!(
            matches!(&rows[..], [Row { outcome: Outcome::Missing { reason }, .. }, ..] if reason == "the script has no time")
        );
    }
}
