//! The crates of all workspaces depend on each other as the rows in ARCHITECTURE.md say, the toolchain never on the
//! homework, and the report's typesetting on none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A crate's place in the rows, and the crates that its tests may also depend on.
#[derive(Debug, Clone)]
struct Place {
    row: usize,
    column: usize,
    also_tests: BTreeSet<String>,
}

/// A dependency between two crates of the repository.
#[derive(Debug, Clone)]
struct Edge {
    from: String,
    to: String,
    is_of_tests: bool,
}

/// The rows of crates, highest first: "a, b [c, d]".
fn rows(text: &str) -> BTreeMap<String, Place> {
    let mut places = BTreeMap::new();
    for (row, line) in text.lines().enumerate() {
        // A comma within brackets separates the crates of a crate's tests.
        let mut depth = 0;
        let parts = line.split(|letter: char| {
            depth += i32::from(letter == '[') - i32::from(letter == ']');
            letter == ',' && depth == 0
        });
        for (column, part) in parts.enumerate() {
            let (name, tests) = part.trim().split_once(" [").unwrap_or((part.trim(), ""));
            let also_tests = tests.trim_end_matches(']').split(", ").map(str::to_owned).collect();
            let known = places.insert(name.to_owned(), Place { row, column, also_tests });
            assert!(known.is_none(), "{name} is in two rows");
        }
    }
    places
}

/// The dependencies that the rows do not allow.
fn violations(places: &BTreeMap<String, Place>, edges: &[Edge]) -> Vec<String> {
    let is_wrong = |edge: &&Edge| {
        let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) else { return true };
        let is_below = (to.row, to.column) > (from.row, from.column);
        let is_allowed = is_below || edge.is_of_tests && from.also_tests.contains(&edge.to);
        !is_allowed
    };
    let line = |edge: &Edge| {
        let kind = if edge.is_of_tests { "tests of " } else { "" };
        format!("{kind}{} → {}", edge.from, edge.to)
    };
    edges.iter().filter(is_wrong).map(line).collect()
}

/// The packages of a workspace, and their dependencies on packages of the repository.
fn workspace(folder: &Path) -> (BTreeSet<String>, Vec<Edge>) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--format-version=1"]).current_dir(folder);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (mut names, mut edges) = (BTreeSet::new(), Vec::new());
    for package in metadata["packages"].as_array().unwrap() {
        let from = package["name"].as_str().unwrap();
        names.insert(from.to_owned());
        for dependency in package["dependencies"].as_array().unwrap() {
            if dependency.get("path").is_some_and(Value::is_string) {
                let (from, to) = (from.to_owned(), dependency["name"].as_str().unwrap().to_owned());
                edges.push(Edge { from, to, is_of_tests: dependency["kind"] == "dev" });
            }
        }
    }
    (names, edges)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The rows of ARCHITECTURE.md.
fn written_rows() -> BTreeMap<String, Place> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, after) = text.split_once("<!-- rows -->\n```text\n").expect("ARCHITECTURE.md has the rows");
    rows(after.split_once("\n```").expect("the rows end").0)
}

#[test]
fn crates_depend_only_downwards() {
    let places = written_rows();
    let (homework, of_homework) = workspace(root());
    let (toolchain, of_toolchain) = workspace(&root().join("rust-cuda"));
    let (typesetting, of_typesetting) = workspace(&root().join("report/typeset"));
    let packages: BTreeSet<&String> = homework.iter().chain(&toolchain).chain(&typesetting).collect();
    assert_eq!(places.keys().collect::<BTreeSet<_>>(), packages, "each crate is in one row");
    assert!(of_typesetting.is_empty(), "its Cargo.lock would follow other manifests: {of_typesetting:?}");
    let edges = [of_homework, of_toolchain.clone()].concat();
    assert!(edges.len() > 100, "{}", edges.len());
    assert_eq!(violations(&places, &edges), [""; 0]);
    let upwards: Vec<&Edge> = of_toolchain.iter().filter(|edge| !toolchain.contains(&edge.to)).collect();
    assert!(upwards.is_empty(), "the toolchain depends on the homework: {upwards:?}");
}

#[test]
fn a_wrong_dependency_is_found() {
    let places = rows("program\nlibrary, helper [program]\nbase");
    let edge = |from: &str, to: &str, is_of_tests| Edge { from: from.to_owned(), to: to.to_owned(), is_of_tests };
    let right = [edge("program", "base", false), edge("library", "helper", false), edge("helper", "program", true)];
    assert_eq!(violations(&places, &right), [""; 0]);
    let wrong = [
        edge("base", "library", false),
        edge("helper", "library", false),
        edge("helper", "program", false),
        edge("library", "program", true),
        edge("library", "unknown", false),
        edge("base", "base", false),
    ];
    assert_eq!(violations(&places, &wrong).len(), wrong.len());
}
