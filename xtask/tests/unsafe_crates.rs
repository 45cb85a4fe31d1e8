//! Lists the toolchain's crates that have unsafe code, and those that depend on `cust`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn toolchain() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("rust-cuda")
}

/// The toolchain's folders with a crate that has the property `is_so`.
fn crates(is_so: impl Fn(&Path) -> bool) -> BTreeSet<String> {
    let entries = fs::read_dir(toolchain()).unwrap().map(|entry| entry.unwrap());
    let crates = entries.filter(|entry| entry.path().join("Cargo.toml").is_file() && is_so(&entry.path()));
    crates.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// The workspace's lints deny unsafe code unless an attribute allows it.
fn allows_unsafe_code(path: &Path) -> bool {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().any(|entry| allows_unsafe_code(&entry.unwrap().path()));
    }
    path.extension().is_some_and(|extension| extension == "rs")
        && fs::read_to_string(path).unwrap().contains("allow(unsafe_code")
}

#[test]
fn the_listed_crates_alone_have_unsafe_code() {
    let text = fs::read_to_string(toolchain().join("ARCHITECTURE.md")).unwrap();
    let (_, list) = text.split_once("<!-- unsafe -->\n```text\n").expect("a list of crates");
    let lines = list.split_once("\n```").expect("the list ends").0.lines();
    let names = lines.flat_map(|line| line.split("  ").next().unwrap_or_default().split(", "));
    let listed: BTreeSet<String> = names.map(str::to_owned).collect();
    assert_eq!(crates(|folder| allows_unsafe_code(&folder.join("src"))), listed);
}

#[test]
fn only_gpu_depends_on_cust() {
    let depends = |folder: &Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("\n[").find(|table| table.starts_with("dependencies]"));
        dependencies
            .is_some_and(|table| table.lines().any(|line| line.starts_with("cust.") || line.starts_with("cust ")))
    };
    assert_eq!(crates(depends), BTreeSet::from(["gpu".to_owned()]));
}
