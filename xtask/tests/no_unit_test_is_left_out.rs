//! A target with `test = false`, which saves compiling it twice, has no unit tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The source files of a crate, found by their `mod` lines from its root.
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

/// The packages of the workspace at a path from the repository's root.
fn packages(workspace: &str) -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(workspace))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn targets_that_are_not_tested_have_no_unit_tests() {
    for (workspace, with_tests) in [("", "perceptron"), ("rust-cuda", "cuda_std_macros")] {
        let packages = packages(workspace);
        let targets = packages.iter().flat_map(|package| package["targets"].as_array().unwrap());
        let is_library_or_program =
            |target: &&Value| ["lib", "proc-macro", "bin"].iter().any(|kind| target["kind"][0] == *kind);
        let mut untested = 0;
        for target in targets.filter(is_library_or_program) {
            let files = sources(Path::new(target["src_path"].as_str().unwrap()));
            if target["test"] == false {
                untested += 1;
                for file in files {
                    assert!(
                        !has_unit_tests(&file),
                        "{} has unit tests, but its Cargo.toml has test = false",
                        file.display()
                    );
                }
            } else if target["name"] == with_tests {
                assert!(
                    files.iter().any(|file| has_unit_tests(file)),
                    "the search must find {with_tests}'s unit tests"
                );
            }
        }
        assert!(untested > 0);
    }
}
