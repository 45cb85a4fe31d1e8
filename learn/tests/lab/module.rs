//! The WebAssembly module in the committed page, in Node, answers as the same code on the host, and as the interpreter does.

use learn::host::puzzles::{Bug, PUZZLES};
use serde::Deserialize;
use serde_json::Value;

use crate::{page, requests, run_in_node};

/// A run of a puzzle's solution, or of a bug.
#[derive(Deserialize)]
struct Run {
    /// The kernel's name in the source.
    key: String,
    /// The index of the size.
    case: usize,
    request: String,
    answer: String,
    /// Whether the page calls the result right.
    #[serde(rename = "isRight")]
    is_right: bool,
}

#[derive(Deserialize)]
struct Report {
    runs: Vec<Run>,
    others: Vec<String>,
}

#[test]
fn the_module_answers_as_the_host_does() {
    let others = requests::all();
    let input = serde_json::to_vec(&others).expect("texts are JSON");
    let Some(output) = run_in_node("module.mjs", &[page()], &input) else { return };
    let report: Report = serde_json::from_str(&output).expect("the script prints its report");
    for Run { key, case, request, answer, .. } in &report.runs {
        assert!(lab::answer(request) == *answer, "{key}, case {case}: another answer than the host's");
    }
    for puzzle in &PUZZLES {
        check_runs(&report.runs, puzzle.kernel.name, puzzle.sizes.len(), None);
        for bug in puzzle.bugs {
            check_runs(&report.runs, bug.kernel.name, puzzle.sizes.len(), Some(bug));
        }
    }
    assert_eq!(report.others.len(), others.len());
    for (request, answer) in others.iter().zip(&report.others) {
        let start: String = request.chars().take(200).collect();
        assert!(lab::answer(request) == *answer, "another answer than the host's to {start}: {answer}");
    }
    let bad = report.others.len() - requests::bad().len();
    for answer in &report.others[bad..] {
        let error = serde_json::from_str::<Value>(answer).expect("an answer is JSON")["error"].clone();
        assert!(error.as_str().is_some_and(|error| !error.is_empty() && !error.contains('\n')), "{answer}");
    }
}

/// Checks the runs of a kernel: a puzzle is right for all sizes, and a bug is found in the first.
fn check_runs(runs: &[Run], name: &str, sizes: usize, bug: Option<&Bug>) {
    let runs: Vec<&Run> = runs.iter().filter(|run| run.key == name).collect();
    assert_eq!(runs.len(), sizes + 1, "{name}: a run of each size, and two of the first");
    for run in runs {
        let answer: Value = serde_json::from_str(&run.answer).expect("an answer is JSON");
        let faults = answer["check"]["faults"].as_array().unwrap_or_else(|| panic!("{name}: {answer}"));
        match bug {
            None => assert!(faults.is_empty() && run.is_right, "{name}, case {}: {answer}", run.case),
            Some(bug) if run.case == 0 && bug.kind == "wrong result" => {
                assert!(faults.is_empty() && !run.is_right, "{name}: {answer}");
            }
            Some(_) if run.case == 0 => {
                let plain = &answer["faults"][0];
                let sentence = plain["sentence"].as_str().unwrap_or_default();
                assert!(sentence.ends_with('.') && !sentence.contains("PTX"), "{name}: {plain}");
                assert!(plain["lines"].as_array().is_some_and(|lines| !lines.is_empty()), "{name}: {plain}");
            }
            Some(_) => {}
        }
    }
}
