//! The kernel lab in docs/lab: in Node and in Chromium, the committed page says what the same code says on the host, and
//! its puzzles can be solved.

mod browser;
mod compiler;
#[allow(dead_code, reason = "tests/puzzles.rs compares the sentences")]
mod faults;
mod module;
#[path = "../../../neural-net/draw/tests/draw/node.rs"]
mod node;
mod own;
mod requests;
mod tree;

use std::path::Path;

/// The committed page.
fn page() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/lab/index.html"))
}

/// Runs a script of this folder in Node and returns what it prints; without Node the calling test is skipped.
#[track_caller]
fn run_in_node(script: &str, arguments: &[&Path], input: &[u8]) -> Option<String> {
    node::run_in_node(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab").join(script), arguments, input)
}
