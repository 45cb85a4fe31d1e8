//! `cargo xtask skipped` counts skipped tests by need, and fails if a skip is not allowed.

use std::path::Path;
use std::process::Command;

const SKIPS: &str = "\
gpu\tmaximum::on_a_gpu\tno CUDA driver
gpu\tmaximum::on_a_gpu\tno CUDA driver
gpu\tproduct_on_a_gpu\tno CUDA driver
mnist\tlearns\tMNIST_DIR is not set
";

/// Exit code, stdout and stderr of the command, for a file of skips and an optional list of allowed
/// needs.
fn skipped(skips: &str, allowed: Option<&str>) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("skipped").arg(file("skips", skips));
    if let Some(allowed) = allowed {
        command.arg("--allowed").arg(file("allowed", allowed));
    }
    let output = command.output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), stdout, stderr)
}

#[test]
fn each_skipped_test_counts_once_for_its_need() {
    let (code, stdout, _) = skipped(SKIPS, None);
    assert_eq!(code, Some(0));
    let words: Vec<Vec<&str>> = stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0][..3], ["skipped:", "3", "tests,"], "{stdout}");
    assert_eq!((&words[1][..2], &words[2][..2], words.len()), (&["2", "gpu"][..], &["1", "mnist"][..], 3), "{stdout}");
    assert_eq!(skipped("", None).1, "skipped: no test\n");
}

#[test]
fn a_skip_that_is_not_on_the_list_fails() {
    let (code, stdout, _) = skipped(SKIPS, Some("# CI has none\ngpu # no driver\n\nmnist\n"));
    assert_eq!((code, stdout.contains("[-]")), (Some(0), false), "{stdout}");
    let (code, stdout, _) = skipped(SKIPS, Some("gpu\n"));
    assert_eq!(code, Some(1));
    let rejected: Vec<&str> = stdout.lines().filter(|line| line.starts_with("[-]")).collect();
    assert_eq!(rejected.len(), 1, "{stdout}");
    assert!(
        rejected[0].starts_with("[-] learns must not be skipped, since mnist is not on the list: MNIST_DIR"),
        "{stdout}"
    );
}

#[test]
fn a_malformed_list_or_file_is_rejected() {
    let (code, _, stderr) = skipped(SKIPS, Some("gpu\nGPUs\n"));
    assert_eq!((code, stderr.lines().count()), (Some(2), 1), "{stderr}");
    assert!(stderr.contains("allowed:2: \"GPUs\" is not a test's need"), "{stderr}");
    for wrong in ["gpu\n", "cpu\ttest\treason\n"] {
        let (code, _, stderr) = skipped(wrong, None);
        assert_eq!((code, stderr.lines().count()), (Some(2), 1), "{stderr}");
        assert!(stderr.contains("not a skipped test: "), "{stderr}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["skipped", "/nonexistent"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// CI's list is valid.
#[test]
fn the_list_of_ci_is_valid() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/skips-allowed.txt");
    let (code, stdout, _) = skipped(SKIPS, Some(&std::fs::read_to_string(list).unwrap()));
    assert_eq!(code, Some(1), "CI must not skip a test that needs MNIST");
    assert!(!stdout.contains("on_a_gpu must not"), "{stdout}");
}
