//! Documents name only files, variables, stages and code that exist.

#[path = "../src/workspace.rs"]
mod workspace;

use std::fs;
use std::path::{Path, PathBuf};

use self::workspace::workspace_root;

fn read(path: impl AsRef<Path>) -> String {
    let path = workspace_root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Adds the files below a folder, except build outputs.
fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    const NOT_SOURCES: [&str; 4] = [".git", "target", "shared", "node_modules"];
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true if NOT_SOURCES.iter().any(|name| entry.file_name() == *name) => {}
            true => add_files(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}

fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    add_files(workspace_root(), &mut files);
    files
}

/// The documents with their text, except the changelog, which also names things that no longer exist.
fn documents(files: &[PathBuf]) -> impl Iterator<Item = (&Path, String)> {
    let is_document = |file: &&PathBuf| {
        file.extension().is_some_and(|extension| extension == "md") && !file.ends_with("CHANGELOG.md")
    };
    files.iter().filter(is_document).map(|file| (file.as_path(), read(file)))
}

/// The text in backticks on one line.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn files_of_rust_that_documents_name_exist() {
    let files = files();
    // PACKAGE in a path is a placeholder.
    let is_path = |span: &&str| {
        let is_part = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-./".contains(letter);
        span.ends_with(".rs") && span.chars().all(is_part)
    };
    for (document, text) in documents(&files) {
        for path in code_spans(&text).filter(is_path) {
            let path = path.trim_start_matches("../");
            assert!(files.iter().any(|file| file.ends_with(path)), "{}: no file is {path}", document.display());
        }
    }
}

#[test]
fn links_of_documents_lead_to_files() {
    for (document, text) in documents(&files()) {
        // A target with a space or an opening parenthesis is code.
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        let paths = targets.map(|target| target.split('#').next().unwrap_or_default());
        for path in paths.filter(|path| !path.is_empty() && !path.contains("://") && path.contains(['.', '/'])) {
            let file = document.parent().unwrap().join(path);
            assert!(file.exists(), "{}: no file is {path}", document.display());
        }
    }
}

#[test]
fn variables_of_the_table_are_those_of_the_code() {
    let is_code = |file: &&PathBuf| {
        file.extension().is_some_and(|extension| extension == "rs" || extension == "py") || file.ends_with(".ci/run")
    };
    let code: Vec<String> = files().iter().filter(is_code).map(read).collect();
    let contributing = read("CONTRIBUTING.md");
    let (_, table) = contributing.split_once("| variable | effect |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut count = 0;
    for span in rows.flat_map(|row| code_spans(row.split(" | ").next().unwrap())) {
        // `NAME`, `NAME=VALUE`, or `PREFIX_*`.
        let name = span.split(['=', '*']).next().unwrap();
        assert!(code.iter().any(|text| text.contains(name)), "CONTRIBUTING.md: nothing reads {name}");
        count += 1;
    }
    assert!(count > 20, "the table has {count} variables");
}

#[test]
fn each_stage_of_the_checks_is_described() {
    let script = read(".ci/run");
    let (stages, _) = script.split_once(") ;;").unwrap();
    let stages = stages.lines().last().unwrap().trim().split(" | ");
    for stage in stages {
        // The stage `quick` is the default and needs no name.
        let command = if stage == "quick" { ".ci/run  ".to_owned() } else { format!(".ci/run {stage} ") };
        let header = script.lines().take_while(|line| line.starts_with('#'));
        assert!(header.into_iter().any(|line| line.contains(&command)), ".ci/run's header lacks {stage}");
        assert!(read("CONTRIBUTING.md").contains(&command), "CONTRIBUTING.md lacks {stage}");
    }
}

#[test]
fn documents_show_the_kernel_as_it_is() {
    let source = read("kernels-gpu/src/maximum.rs");
    let start = source.find("pub fn max_kernel").unwrap();
    let length = source[start..].find("\n}").unwrap() + "\n}".len();
    for document in ["docs/gpu-kernels.md", "rust-cuda/README.md"] {
        assert!(read(document).contains(&source[start..start + length]), "{document}: max_kernel differs");
    }
}
