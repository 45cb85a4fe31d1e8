//! The crates of each workspace depend on each other only as the rows in its ARCHITECTURE.md allow,
//! and on other workspaces only downwards.

#[path = "../src/workspace.rs"]
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use self::workspace::Workspace;

/// A crate's row, and the crates that its tests may additionally depend on.
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
        // A comma inside brackets separates the crates for a crate's tests.
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
fn manifests(workspace: Workspace) -> (BTreeSet<String>, Vec<Edge>) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--format-version=1"]).current_dir(workspace.folder());
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

/// The rows of a workspace's ARCHITECTURE.md.
fn written_rows(workspace: Workspace) -> BTreeMap<String, Place> {
    let file = workspace.folder().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (_, after) =
        text.split_once("<!-- rows -->\n```text\n").unwrap_or_else(|| panic!("{} has no rows", file.display()));
    rows(after.split_once("\n```").expect("the rows end").0)
}

#[test]
fn crates_depend_only_downwards() {
    let manifests = Workspace::ALL.map(|workspace| (workspace, manifests(workspace)));
    let mut all = 0;
    for (workspace, (packages, edges)) in &manifests {
        let (inner, outer): (Vec<Edge>, Vec<Edge>) =
            edges.iter().cloned().partition(|edge| packages.contains(&edge.to));
        // A workspace with a single crate needs no rows.
        if packages.len() > 1 {
            let places = written_rows(*workspace);
            assert_eq!(
                places.keys().collect::<BTreeSet<_>>(),
                packages.iter().collect(),
                "each crate is in one row: {workspace:?}"
            );
            assert_eq!(violations(&places, &inner), [""; 0], "{workspace:?}");
        }
        for Edge { from, to, .. } in outer {
            let of = manifests.iter().find(|(_, (packages, _))| packages.contains(&to));
            let (used, _) = of.unwrap_or_else(|| panic!("{from} depends on {to}, which is in no workspace"));
            assert!(workspace.uses().contains(used), "{from} of {workspace:?} depends on {to} of {used:?}");
        }
        all += edges.len();
    }
    assert!(all > 100, "{all}");
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
