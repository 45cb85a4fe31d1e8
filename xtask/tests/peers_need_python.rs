//! Without Python or NumPy, `cargo xtask peers` prints one line with the package to install, and exits with 2.

use std::process::Command;

fn stderr_with_python(path: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["peers", "--python", path]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn peers_without_python_name_what_to_install() {
    let stderr = stderr_with_python("/nonexistent");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: cannot start /nonexistent"), "{stderr}");
    assert!(stderr.contains("install Python 3"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn peers_without_numpy_name_what_to_install() {
    let stderr = stderr_with_python("false");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("false -m pip install numpy numba"), "{stderr}");
}
