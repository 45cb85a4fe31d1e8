use std::process::Command;

/// The environment variable that is set in the process that runs a test's body.
const IN_CHILD: &str = "TEST_IN_CHILD";

/// Whether this process runs one test's body for [`in_own_process`].
#[must_use]
pub fn is_own_process() -> bool {
    std::env::var_os(IN_CHILD).is_some()
}

/// Runs `body`, the body of the test `test` (with its module path), in its own process, prepared by
/// `set_up`. The test executable restarts itself and runs the one test there.
///
/// # Panics
/// If the test fails there, or there is no test of that name.
pub fn in_own_process(test: &str, set_up: impl FnOnce(&mut Command), body: impl FnOnce()) {
    if is_own_process() {
        return body();
    }
    let mut child = Command::new(std::env::current_exe().expect("the test executable has a path"));
    child.args(["--exact", test, "--nocapture"]).env(IN_CHILD, "1");
    set_up(&mut child);
    let child = child.output().expect("the test executable starts");
    let output = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && output.contains("1 passed"), "{test} failed in its process:\n{output}");
}
