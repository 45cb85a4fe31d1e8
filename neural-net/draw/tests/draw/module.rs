//! The WebAssembly module in the committed page, in Node, predicts as the CPU's predictor.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use test_skips::{Need, skip};

use crate::{Answer, builtin_digits, mnist, require_all_same};

/// The committed page.
pub(crate) fn page() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/draw/index.html"))
}

/// Runs a script of this folder in Node and returns what it prints; without Node the calling test is skipped.
#[track_caller]
pub(crate) fn run_in_node(script: &str, arguments: &[&Path], input: &[u8]) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/draw").join(script);
    let mut command = Command::new("node");
    command.arg(script).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = match command.spawn() {
        Ok(node) => node,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skip(Need::Node, "there is no program node: install Node.js");
            return None;
        }
        Err(error) => panic!("cannot start node: {error}"),
    };
    let mut stdin = node.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        // The end of the input closes the pipe. If the script fails before, its exit status is the error to report.
        scope.spawn(move || stdin.write_all(input));
        node.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{}", output.status);
    Some(String::from_utf8(output.stdout).unwrap())
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
