//! The WebAssembly module in the committed page, in Node, answers as the same code on the host, and as the interpreter does.

use gpu::{Device, InterpreterOptions, PtxVariant};
use learn::host::{STEPS, Version};
use serde::Deserialize;
use serde_json::Value;

use crate::support::marked_place;
use crate::{page, requests, run_in_node};

/// A run of a lesson's kernel with the lesson's size.
#[derive(Deserialize)]
struct Run {
    /// The page in docs/learn.
    page: String,
    size: usize,
    kernel: String,
    role: String,
    request: String,
    answer: String,
    /// The elements of the result, if it is right.
    found: Vec<f64>,
    /// Whether the page calls the result right.
    #[serde(rename = "isRight")]
    is_right: bool,
}

#[derive(Deserialize)]
struct Report {
    runs: Vec<Run>,
    others: Vec<String>,
}

/// Whether a place of a fault, or a call around it, is at a line.
fn is_at(place: &Value, (file, line): &(String, u32)) -> bool {
    let sources = std::iter::successors(Some(&place["source"]), |source| Some(&source["inlined_at"]));
    let mut sources = sources.take_while(|source| source.is_object());
    sources.any(|source| source["file"] == file.as_str() && source["line"] == *line)
}

/// A fault of an answer that is at the line of a kernel's mistake, or whose other access is.
pub(crate) fn is_convicted(answer: &Value, kernel: &str) -> bool {
    let place = marked_place(kernel);
    let faults = answer["check"]["faults"].as_array().expect("an answer has faults");
    faults.iter().any(|fault| is_at(&fault["place"], &place) || is_at(&fault["other"]["place"], &place))
}

#[test]
fn the_module_answers_as_the_host_does() {
    let others = requests::all();
    let input = serde_json::to_vec(&others).expect("texts are JSON");
    let Some(output) = run_in_node("module.mjs", &[page()], &input) else { return };
    let report: Report = serde_json::from_str(&output).expect("the script prints its report");
    let variant = PtxVariant::newest(&learn::PTX).expect("there is PTX");
    let device = Device::interpreter(variant, InterpreterOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    for step in STEPS {
        let versions: [(&str, Version); 3] = [("right", step.after), ("slower", step.before), ("wrong", step.wrong)];
        let runs: Vec<&Run> = report.runs.iter().filter(|run| run.page == step.page).collect();
        assert_eq!(runs.len(), versions.len(), "{}: the kernels of the lesson", step.page);
        for (role, version) in versions {
            let run = runs.iter().find(|run| run.kernel == version.name).expect(version.name);
            assert_eq!((run.role.as_str(), run.size), (role, step.wrong_size), "{}", version.name);
            assert!(lab::answer(&run.request) == run.answer, "{}: another answer than the host's", version.name);
            let answer: Value = serde_json::from_str(&run.answer).expect("an answer is JSON");
            match (version.check)(&device, run.size) {
                Ok(found) => {
                    assert!(run.is_right, "{}: the page calls the result wrong", version.name);
                    let bits = |values: &mut dyn Iterator<Item = f32>| values.map(f32::to_bits).collect::<Vec<_>>();
                    let of_page = bits(&mut run.found.iter().map(|&value| value as f32));
                    assert_eq!(of_page, bits(&mut found.into_iter()), "{}", version.name);
                    assert_eq!(answer["check"]["faults"], serde_json::json!([]), "{}", version.name);
                }
                Err(error) => {
                    assert_eq!(role, "wrong", "{}: {error}", version.name);
                    assert!(is_convicted(&answer, version.name), "{}: {:#}", version.name, answer["check"]["faults"]);
                }
            }
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
