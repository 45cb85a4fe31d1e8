//! Runs scripts in Node, and the browser that they drive, for tests of pages.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use test_support::{Need, skip};

/// Runs a script in Node and returns its output. Without Node, the calling test is skipped.
#[track_caller]
pub(crate) fn run_in_node(script: &Path, arguments: &[&Path], input: &[u8]) -> Option<String> {
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
        // The end of the input closes the pipe. If the script fails earlier, report its exit status
        // instead.
        scope.spawn(move || stdin.write_all(input));
        node.wait_with_output().expect("node's output can be read")
    });
    assert!(output.status.success(), "{}", output.status);
    Some(String::from_utf8(output.stdout).expect("node prints UTF-8"))
}

/// The browser named by the variable CHROMIUM. Without it, the calling test is skipped.
#[track_caller]
pub(crate) fn chromium() -> Option<PathBuf> {
    let chromium = std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("chromium"), PathBuf::from);
    let version = Command::new(&chromium).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if version.is_ok_and(|status| status.success()) {
        return Some(chromium);
    }
    skip(Need::Chromium, &format!("there is no program {}: install Chromium", chromium.display()));
    None
}
