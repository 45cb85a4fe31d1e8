//! Launches of the puzzles' kernels for `lab::answer`.

use std::collections::BTreeMap;
use std::path::Path;

use learn::host::puzzles::Case;
use serde_json::{Value, json};

/// The sources of the puzzles' kernels, by their names in PTX. The steps' kernels are not among them: some have the same
/// names.
pub(crate) fn sources() -> BTreeMap<String, String> {
    let text = |file: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    ["puzzles.rs", "bugs.rs"].map(|file| (format!("learn/src/{file}"), text(file))).into()
}

/// The launch file of a kernel with a case of its puzzle.
pub(crate) fn launch(kernel: &str, case: &Case) -> Value {
    let case: Value = serde_json::from_str(&case.to_string()).expect("a case is JSON");
    json!({
        "ptx": "puzzles.sm_75.ptx", "kernel": kernel, "grid": case["grid"], "block": case["block"],
        "block_instructions": 1 << 20, "instructions_without_progress": 1 << 18, "arguments": case["arguments"],
    })
}

/// The PTX without the other kernels, which is read faster.
pub(crate) fn only(ptx: &str, kernel: &str) -> String {
    const ENTRY: &str = ".visible .entry ";
    let (mut text, own) = (String::new(), format!("{ENTRY}{kernel}("));
    let mut rest = ptx;
    while let Some(start) = rest.find(ENTRY) {
        let end = rest[start..].find("\n}\n").map_or(rest.len(), |end| start + end + 3);
        text += if rest[start..].starts_with(&own) { &rest[..end] } else { &rest[..start] };
        rest = &rest[end..];
    }
    text + rest
}
