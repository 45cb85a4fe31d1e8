//! The page's compiler gives seeded bugs the faults that rustc's PTX has. tests/puzzles.rs says so of the puzzles.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::faults::lines_of;
use crate::requests::seeded_bugs;

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

fn answer(request: &Value) -> Value {
    serde_json::from_str(&lab::answer(&request.to_string())).expect("an answer is JSON")
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
