//! The page's compiler gives every kernel of the lessons the results and the faults that rustc's PTX has.

use std::collections::BTreeMap;
use std::path::Path;

use gpu::Device;
use learn::host::STEPS;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::faults::{lines_of, sentences_of};
use crate::requests::seeded_bugs;
use crate::run_in_node;

/// A kernel in whose wrong line rustc checks an index before another one that comes first in the source. Its faults are at
/// the same line, but of another element or thread.
const REORDERED: &str = "add_row_swapped";

/// A launch of a lesson.
#[derive(Deserialize)]
struct Launch {
    name: String,
    launch: Value,
}

/// The sources of the steps' kernels. The puzzles are not among them: some have the same names.
pub(crate) fn sources() -> BTreeMap<String, String> {
    let mut files = files_of("learn");
    files.retain(|name, _| !name.ends_with("/puzzles.rs") && !name.ends_with("/bugs.rs"));
    files
}

/// The files of a crate's sources, by the names that PTX has for them.
fn files_of(package: &str) -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let below = if package == "learn" { root } else { root.join("rust-cuda") };
    let folder = below.join(package).join("src");
    let entries = folder.read_dir().expect("there are sources").map(|entry| entry.expect("an entry").path());
    let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let text = |path: &Path| std::fs::read_to_string(path).expect("a source is text");
    files.map(|path| (format!("{package}/src/{}", path.file_name().unwrap().display()), text(&path))).collect()
}

/// What the simulator says of each kernel of the lessons, by its name: nothing, or the fault.
fn on_the_simulator() -> BTreeMap<String, Result<(), String>> {
    let device = Device::simulator();
    let versions = |step: &learn::host::Step| [step.after, step.before, step.wrong];
    let all = STEPS.iter().flat_map(|step| versions(step).map(|version| (version, step.wrong_size)));
    all.map(|(version, size)| (version.name.to_owned(), (version.check)(&device, size).map(drop))).collect()
}

/// The files and lines of an answer's faults, and of the other accesses of races.
fn places_of(answer: &Value) -> Vec<String> {
    let faults = answer["check"]["faults"].as_array().into_iter().flatten();
    let places = faults.flat_map(|fault| [&fault["place"]["source"], &fault["other"]["place"]["source"]]);
    places
        .filter(|source| source.is_object())
        .map(|source| format!("{}:{}", source["file"].as_str().unwrap_or_default(), source["line"]))
        .collect()
}

fn answer(request: &Value) -> Value {
    serde_json::from_str(&lab::answer(&request.to_string())).expect("an answer is JSON")
}

#[test]
fn kernels_compiled_by_the_page_agree_with_rustcs() {
    let lessons = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/lab/lessons.js"));
    let Some(output) = run_in_node("launches.mjs", &[lessons], b"") else { return };
    let launches: Vec<Launch> = serde_json::from_str(&output).expect("the script prints launches");
    let sources = sources();
    let (ptx, names) = (include_str!("../../ptx/learn.sm_75.ptx"), include_str!("../../ptx/learn.sm_75.debug"));
    let simulated = on_the_simulator();
    let launches: Vec<Launch> =
        launches.into_iter().filter(|Launch { name, .. }| simulated.contains_key(name)).collect();
    assert_eq!(launches.len(), 3 * STEPS.len());
    let mut differ = Vec::new();
    for Launch { name, launch } in launches {
        let of_rustc =
            answer(&json!({"task": "check", "ptx": ptx, "names": names, "launch": launch, "orders": 2, "seed": 0}));
        let of_page = answer(&json!({"task": "check", "files": sources, "launch": launch, "orders": 2, "seed": 0}));
        if let Some(error) = of_page["error"].as_str() {
            differ.push(format!("{name}: {error}"));
            continue;
        }
        let both = [&of_rustc, &of_page];
        let [lines, of_the_page] = both.map(lines_of);
        if lines != of_the_page {
            differ.push(format!("{name}: faults at {of_the_page:?}, not {lines:?}"));
        }
        let [sentences, of_the_page] = both.map(sentences_of);
        if sentences != of_the_page && name != REORDERED {
            differ.push(format!("{name}:\n{}\nnot\n{}", of_the_page.join("\n"), sentences.join("\n")));
        }
        let found = places_of(&of_page);
        match &simulated[&name] {
            Ok(_) if found.is_empty() => {}
            Err(error) if found.iter().any(|place| error.contains(&format!(" {place}:"))) => {}
            other => differ.push(format!("{name}: {found:?}, and on the simulator: {other:?}")),
        }
        // What a kernel with a fault leaves in memory depends on the order of its instructions.
        if sentences.is_empty() && of_rustc["buffers"] != of_page["buffers"] {
            differ.push(format!("{name}: another result"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// A seeded bug whose threads wait at two barriers: which one is said first depends on the compiler's order of branches.
const TWO_BARRIERS: &str = "block_or_grid";

#[test]
fn seeded_bugs_compiled_by_the_page_are_found_at_rustcs_lines() {
    let files = files_of("seeded_bugs");
    let mut differ = Vec::new();
    for request in seeded_bugs() {
        let mut request: Value = serde_json::from_str(&request).expect("a request is JSON");
        let of_rustc = answer(&request);
        request.as_object_mut().expect("an object").remove("ptx");
        request["files"] = json!(files);
        let (of_page, kernel) = (answer(&request), &request["launch"]["kernel"]);
        let is_same = lines_of(&of_rustc) == lines_of(&of_page) && of_page["error"].is_null();
        let is_equal = !lines_of(&of_rustc).is_empty() || of_rustc["buffers"] == of_page["buffers"];
        if (!is_same || !is_equal) && kernel != TWO_BARRIERS {
            differ.push(format!("{kernel}: {:?}\nnot {:?}", of_page["sentences"], of_rustc["sentences"]));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
