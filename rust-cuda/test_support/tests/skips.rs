//! A skipped test is printed despite the test harness's capture and appended to a file. It fails if
//! it is required.
//!
//! Environment variables belong to a process, so these tests rerun this program with a test that
//! skips itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use test_support::{Need, Skip, path_in, read, skip};

#[test]
#[ignore = "the other tests run it"]
fn skips_itself() {
    skip(Need::Gpu, "no CUDA\n  driver");
    assert_eq!(path_in("TEST_SKIPS_UNSET", Need::Mnist), None);
    assert_eq!(path_in("TEST_SKIPS_EMPTY", Need::Mnist), None);
    assert_eq!(path_in("TEST_SKIPS_SET", Need::Mnist).as_deref(), Some(Path::new("folder")));
}

/// A file of this process.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

/// Runs `skips_itself` without `--nocapture`, so the harness captures its output.
fn run(file: &Path, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "skips_itself", "--ignored"]).env("SKIPPED_TESTS", file);
    for need in ["GPU", "MNIST"] {
        command.env_remove(format!("{need}_TESTS"));
    }
    command.env("TEST_SKIPS_EMPTY", "").env("TEST_SKIPS_SET", "folder").envs(variables.iter().copied());
    command.output().unwrap()
}

#[test]
fn a_skip_is_printed_despite_the_capture_and_appended() {
    let file = file("kept");
    for _ in 0..2 {
        let output = run(&file, &[]);
        assert!(output.status.success(), "{output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr.lines().next(), Some("SKIPPED skips_itself (needs gpu): no CUDA driver"), "{stderr}");
        assert_eq!(stderr.lines().count(), 3, "{stderr}");
    }
    let skip = |need, reason: &str| Skip { need, test: "skips_itself".to_owned(), reason: reason.to_owned() };
    let unset = "the environment variable TEST_SKIPS_EMPTY is not set";
    assert_eq!(read(&file).unwrap(), [skip(Need::Gpu, "no CUDA driver"), skip(Need::Mnist, unset)]);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_skip_that_is_not_allowed_fails() {
    let file = file("required");
    let output = run(&file, &[("GPU_TESTS", "require")]);
    assert!(!output.status.success() && !file.exists(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("skips_itself must not be skipped, since GPU_TESTS=require: no CUDA"), "{stdout}");
    assert!(!run(&file, &[("MNIST_TESTS", "require")]).status.success());
    assert!(run(&file, &[("PTX_TESTS", "require")]).status.success());
    std::fs::remove_file(file).unwrap();
}
