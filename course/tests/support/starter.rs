//! Runs cargo in a workspace that `cargo course starter` has written.

use std::path::Path;
use std::process::Command;

/// Runs a cargo command in the workspace. Returns its exit code and output.
pub(crate) fn cargo(workspace: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).current_dir(workspace);
    // Cargo sets these variables for the test itself.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_") && name != "CARGO_HOME") {
            command.env_remove(name);
        }
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("starter");
    let output = command.env("CARGO_TARGET_DIR", target).output().unwrap();
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    println!("$ cargo {}\n{text}", arguments.join(" "));
    (output.status.code(), text)
}
