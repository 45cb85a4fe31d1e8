//! The laboratory in docs/lab: in Node and in Chromium, the committed page says what the same code says on the host, and it
//! convicts every wrong kernel at its line.

mod browser;
mod module;
mod requests;

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use test_skips::{Need, skip};

/// The committed page.
fn page() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/lab/index.html"))
}

/// Runs a script of this folder in Node and returns what it prints; without Node the calling test is skipped.
#[track_caller]
fn run_in_node(script: &str, arguments: &[&Path], input: &[u8]) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab").join(script);
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
    let mut stdin = node.stdin.take().expect("stdin is a pipe");
    let output = thread::scope(|scope| {
        // The end of the input closes the pipe. If the script fails before, its exit status is the error to report.
        scope.spawn(move || stdin.write_all(input));
        node.wait_with_output().expect("node's output can be read")
    });
    assert!(output.status.success(), "{}", output.status);
    Some(String::from_utf8(output.stdout).expect("node prints UTF-8"))
}

/// The place of the mistake in a kernel of wrong.rs or slips.rs.
fn marked_place(kernel: &str) -> (String, u32) {
    let files = [("wrong", include_str!("../../src/wrong.rs")), ("slips", include_str!("../../src/slips.rs"))];
    let place = files.into_iter().find_map(|(file, text)| {
        let lines = text.lines().enumerate();
        let mut body = lines.skip_while(|(_, line)| !line.starts_with(&format!("pub fn {kernel}(")));
        let (index, _) = body.find(|(_, line)| line.ends_with("// wrong"))?;
        Some((format!("learn/src/{file}.rs"), index as u32 + 1))
    });
    place.unwrap_or_else(|| panic!("no mark in {kernel}"))
}
