//! A student's complete path: from the starter, one function after another, to a submission with
//! full points.
//!
//! The test takes minutes, needs bubblewrap, and prints everything that the student reads: `cargo
//! test --manifest-path course/Cargo.toml --test student_way -- --ignored --nocapture
//! --test-threads=1`.

#![cfg(unix)]

#[path = "support/starter.rs"]
mod starter;

use std::path::{Path, PathBuf};
use std::process::Command;

use starter::cargo;

/// A function that the student writes: its file, its name, and the solution's lines.
struct Block {
    file: PathBuf,
    name: String,
    solution: String,
}

/// The functions of a part, in the order of the files in the part's library.
fn blocks(part: &str) -> Vec<Block> {
    let course = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The kernels of `learn` are in the crate of that name.
    let templates = if part == "learn" { course.join("..") } else { course.join("starter") };
    let mut blocks = Vec::new();
    let folder = templates.join(part).join("src");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    // The versions are in the README's order: plain loops, parallel, the kernel, its launch.
    let order = ["trivial.rs", "parallel.rs", "kernel.rs", "kernels.rs", "on_gpu.rs"];
    files.sort_by_key(|file| order.iter().position(|name| file.ends_with(name)));
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&templates).unwrap();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(function) = line.trim_start().strip_prefix("// write: ") else { continue };
            let solution: Vec<&str> = lines.by_ref().take_while(|line| line.trim_start() != "// end").collect();
            let solution = solution.join("\n");
            blocks.push(Block { file: name.to_owned(), name: function.to_owned(), solution });
        }
    }
    blocks
}

impl Block {
    /// Replaces `not_written!` with the solution.
    fn write(&self, workspace: &Path) {
        let file = workspace.join(&self.file);
        let text = std::fs::read_to_string(&file).unwrap();
        let not_written = format!("teaching_tests::not_written!(\"{}\");", self.name);
        let line = text.lines().find(|line| line.trim_start() == not_written);
        let line = line.unwrap_or_else(|| panic!("{} has no {not_written}", file.display()));
        std::fs::write(&file, text.replacen(line, &self.solution, 1)).unwrap();
    }
}

/// Numbers of passed and failed tests.
fn counts(text: &str) -> (usize, usize) {
    let count = |mark: char| text.lines().filter(|line| line.trim_start().starts_with(mark)).count();
    (count('✓'), count('✗'))
}

/// Writes the functions of an assignment into its starter, part by part. Returns the workspace, in
/// which all tests pass.
fn written(folder: &Path, assignment: &str, parts: &[&str]) -> PathBuf {
    let workspace = folder.join("homework");
    let mut course = Command::new(env!("CARGO_BIN_EXE_course"));
    let written = course.args(["starter", "--assignment", assignment]).arg(&workspace).output().unwrap();
    assert!(written.status.success(), "{written:?}");

    let (code, text) = cargo(&workspace, &["check-homework"]);
    let (passed, all) = counts(&text);
    assert_eq!((code, passed), (Some(1), 0), "{text}");
    assert!(all > 7, "{text}");
    assert!(!text.contains("warning: "), "{text}");
    let (code, text) = cargo(&workspace, &["check-homework", "hint", parts[0]]);
    assert_eq!(code, Some(0), "{text}");

    let mut before = 0;
    for part in parts {
        for block in blocks(part) {
            println!("writes {} in {}", block.name, block.file.display());
            block.write(&workspace);
        }
        let (_, text) = cargo(&workspace, &["check-homework"]);
        let (passed, failed) = counts(&text);
        assert!(passed > before && passed + failed == all, "{part}: {passed} of {all}\n{text}");
        before = passed;
    }
    let (code, text) = cargo(&workspace, &["check-homework"]);
    assert_eq!((code, counts(&text)), (Some(0), (all, 0)), "{text}");
    workspace
}

/// Hands in the workspace's work, which gets full points.
fn hand_in(workspace: &Path, assignment: &str) {
    let (code, text) = cargo(workspace, &["hand-in"]);
    assert_eq!(code, Some(0), "{text}");
    let mut grade = Command::new(env!("CARGO_BIN_EXE_course"));
    let grade = grade.args(["grade", "--assignment", assignment]).arg(workspace.join("homework.zip")).output().unwrap();
    let (text, messages) = (String::from_utf8_lossy(&grade.stdout), String::from_utf8_lossy(&grade.stderr));
    println!("$ cargo course grade homework.zip\n{text}{messages}");
    assert!(text.contains("100 of 100 points"), "{text}{messages}");
    assert!(!text.contains("to look at"), "{text}");
    // The work equals the published solution.
    assert!(messages.contains(" % as in the published solution, to be read by a person: "), "{messages}");
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn a_student_writes_one_function_after_the_other_and_gets_full_points() {
    let folder = tempfile::tempdir().unwrap();
    let parts = ["utils", "max_functions", "matmul_functions", "activation_functions"];
    let workspace = written(folder.path(), "1", &parts);

    let file = workspace.join("utils/src/weights.rs");
    let right = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, right.replace("sizes.iter().skip(1).map", "sizes.iter().map")).unwrap();
    let (_, text) = cargo(&workspace, &["check-homework"]);
    let message = "zeros_biases: for sizes [4, 3, 2] the lengths are [4, 3, 2], expected [3, 2]";
    assert!(text.contains(message), "{text}");
    std::fs::write(&file, right).unwrap();

    let (code, text) = cargo(&workspace, &["run", "-q", "-p", "train"]);
    assert_eq!(code, Some(0), "{text}");
    for part in &parts[1..] {
        let (code, text) = cargo(&workspace, &["run", "-q", "-p", part]);
        assert_eq!(code, Some(0), "{text}");
    }
    hand_in(&workspace, "1");
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn the_second_assignment_ends_in_full_points() {
    let folder = tempfile::tempdir().unwrap();
    hand_in(&written(folder.path(), "2", &["augmentation", "filters"]), "2");
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn the_third_assignment_ends_in_full_points() {
    let folder = tempfile::tempdir().unwrap();
    hand_in(&written(folder.path(), "3", &["distributed_functions"]), "3");
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn the_kernels_to_learn_by_end_in_full_points() {
    let folder = tempfile::tempdir().unwrap();
    hand_in(&written(folder.path(), "learn", &["learn"]), "learn");
}
