//! The WebAssembly module in the committed page, in Node, predicts as the CPU's predictor.

use std::path::Path;

use crate::{Answer, builtin_digits, mnist, node, require_all_same};

/// The committed page.
pub(crate) fn page() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/draw/index.html"))
}

/// Runs a script of this folder in Node and returns what it prints; without Node the calling test is skipped.
#[track_caller]
pub(crate) fn run_in_node(script: &str, arguments: &[&Path], input: &[u8]) -> Option<String> {
    node::run_in_node(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/draw").join(script), arguments, input)
}

#[track_caller]
fn answers(images: &[u8]) -> Option<Vec<Answer>> {
    let output = run_in_node("module.mjs", &[page()], images)?;
    Some(serde_json::from_str(&output).unwrap())
}

#[test]
fn builtin_digits_are_read_as_by_the_predictor() {
    let (images, labels) = builtin_digits();
    let Some(answers) = answers(&images) else { return };
    require_all_same(&images, &labels, &answers);
}

#[test]
fn mnist_is_read_as_by_the_predictor() {
    let Some((images, labels)) = mnist() else { return };
    let Some(answers) = answers(&images) else { return };
    let right = require_all_same(&images, &labels, &answers);
    assert!((9_500..9_950).contains(&right), "{right} of 10,000 are right");
}
