//! A target with `test = false`, which saves compiling it twice, must not have unit tests.

#[path = "../src/workspace.rs"]
mod workspace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use self::workspace::Workspace;

/// The source files of a crate, found by following `mod` lines from its root.
fn sources(root: &Path) -> Vec<PathBuf> {
    let (mut files, mut next) = (vec![], vec![root.to_owned()]);
    while let Some(file) = next.pop() {
        let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
            Some("main" | "lib" | "mod") => file.with_file_name(""),
            _ => file.with_extension(""),
        };
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines().map(str::trim) {
            let Some(name) = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod ")) else { continue };
            if matches!(name.0.trim(), "" | "pub" | "pub(crate)" | "pub(super)") {
                let candidates = [folder.join(format!("{}.rs", name.1)), folder.join(name.1).join("mod.rs")];
                next.extend(candidates.into_iter().filter(|path| path.is_file()));
            }
        }
        files.push(file);
    }
    files
}

fn has_unit_tests(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().any(|line| matches!(line.trim(), "#[cfg(test)]" | "#[test]"))
}

fn packages(workspace: Workspace) -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(workspace.folder())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn targets_that_are_not_tested_have_no_unit_tests() {
    let (mut untested, mut found) = (0, 0);
    let all: Vec<Value> = Workspace::ALL.into_iter().flat_map(packages).collect();
    let source = |target: &Value| Path::new(target["src_path"].as_str().unwrap()).canonicalize().unwrap();
    let targets = || all.iter().flat_map(|package| package["targets"].as_array().unwrap());
    // A test package may include another package's sources.
    let tested: BTreeSet<PathBuf> = targets().filter(|target| target["test"] == true).map(source).collect();
    for package in &all {
        let is_library_or_program =
            |target: &&Value| ["lib", "proc-macro", "bin"].iter().any(|kind| target["kind"][0] == *kind);
        for target in package["targets"].as_array().unwrap().iter().filter(is_library_or_program) {
            let files = sources(Path::new(target["src_path"].as_str().unwrap()));
            let with_tests = files.iter().filter(|file| has_unit_tests(file));
            if !tested.contains(&source(target)) {
                untested += 1;
                let with_tests: Vec<_> = with_tests.collect();
                assert!(with_tests.is_empty(), "unit tests, but test = false in Cargo.toml: {with_tests:?}");
            } else {
                found += with_tests.count();
            }
        }
    }
    // Checks that the search finds files at all.
    assert!(untested > 10 && found > 100, "{untested} untested targets, {found} files with unit tests");
}
