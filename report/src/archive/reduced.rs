//! The workspace, reduced to a hand-in's crates and the crates that they depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::{ArchiveError, HandIn, read};

/// A workspace of the hand-in's crates and their path dependencies.
pub(super) struct Reduced {
    /// The root's Cargo.toml.
    pub(super) manifest: String,
    /// Cargo.lock without the packages that the reduced workspace cannot need. Cargo removes a few
    /// more, needed only by features of other crates.
    pub(super) lock: String,
    /// The programs and the path dependencies: each folder, relative to the workspace, with its
    /// Cargo.toml without dev-dependencies, tests and benchmarks.
    pub(super) support: BTreeMap<String, String>,
}

/// Cargo.lock.
#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    package: Vec<Package>,
}

/// A package in Cargo.lock.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// `None` for a crate of the workspace.
    source: Option<String>,
    /// "name", or "name version" if the file has several versions.
    #[serde(default)]
    dependencies: Vec<String>,
}

/// Reduces the workspace to the hand-in's crates and their dependencies.
pub(super) fn reduced(hand_in: HandIn, workspace: &Path) -> Result<Reduced, ArchiveError> {
    let manifest = read_text(workspace, "Cargo.toml")?;
    let root = parse(workspace, "Cargo.toml", &manifest)?;
    let unusable = |file: &str, reason: String| ArchiveError::Unusable { path: workspace.join(file), reason };
    let lock = read_text(workspace, "Cargo.lock")?;
    let parsed = toml::from_str::<Lock>(&lock);
    let packages = parsed.map_err(|error: toml::de::Error| unusable("Cargo.lock", error.message().to_owned()))?.package;

    let (mut kept, mut support) = (BTreeSet::new(), BTreeMap::new());
    let mut pending: Vec<String> = hand_in.packages().map(str::to_owned).collect();
    while let Some(wanted) = pending.pop() {
        let (name, version) = wanted.split_once(' ').unwrap_or((&wanted, ""));
        let is_wanted = |package: &Package| package.name == name && (version.is_empty() || package.version == version);
        let index = packages.iter().position(is_wanted);
        let index = index.ok_or_else(|| unusable("Cargo.lock", format!("it has no package {wanted}")))?;
        if !kept.insert(index) {
            continue;
        }
        let package = &packages[index];
        let mut needed = package.dependencies.clone();
        if package.source.is_none() && !hand_in.crates.contains(&name) {
            let folder =
                folder_of(&root, name).ok_or_else(|| unusable("Cargo.toml", format!("it has no path of {name}")))?;
            let file = format!("{folder}/Cargo.toml");
            let manifest = without_dev_dependencies(&read_text(workspace, &file)?);
            let table = parse(workspace, &file, &manifest)?;
            let names = dependencies(&table);
            needed.retain(|dependency| names.contains(dependency.split(' ').next().unwrap_or_default()));
            support.insert(folder.to_owned(), manifest);
        }
        pending.extend(needed);
    }
    let names: BTreeSet<&str> = kept.iter().map(|index| packages[*index].name.as_str()).collect();
    let manifest = root_manifest(hand_in, &manifest, &support, &names);
    // The first part of Cargo.lock is its version. Each other part is a package.
    let parts = lock.split("\n\n").enumerate().filter(|(part, _)| *part == 0 || kept.contains(&(part - 1)));
    let lock = parts.map(|(_, text)| format!("{}\n", text.trim_end())).collect::<Vec<_>>().join("\n");
    Ok(Reduced { manifest, lock, support })
}

fn read_text(workspace: &Path, file: &str) -> Result<String, ArchiveError> {
    Ok(String::from_utf8_lossy(&read(workspace, file)?).replace("\r\n", "\n"))
}

fn parse(workspace: &Path, file: &str, text: &str) -> Result<Table, ArchiveError> {
    text.parse().map_err(|error: toml::de::Error| ArchiveError::Unusable {
        path: workspace.join(file),
        reason: error.message().to_owned(),
    })
}

/// The folder of a crate in the workspace, according to the root's Cargo.toml.
fn folder_of<'a>(root: &'a Table, name: &str) -> Option<&'a str> {
    let dependencies = root.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let patches = root.get("patch").and_then(|patch| patch.get("crates-io"));
    [dependencies, patches].into_iter().flatten().find_map(|table| table.get(name)?.get("path")?.as_str())
}

/// A Cargo.toml without its dev-dependencies, tests and benchmarks.
fn without_dev_dependencies(manifest: &str) -> String {
    let mut kept = String::new();
    let mut is_kept = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_kept = !line.contains("dev-dependencies") && !["[[bench]]", "[[test]]", "[[example]]"].contains(&line);
        }
        if is_kept {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The names of a crate's dependencies and build-dependencies, for all targets.
fn dependencies(manifest: &Table) -> BTreeSet<&str> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = targets.filter_map(|(_, target)| target.as_table()).chain([manifest]);
    let sections = tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|section| table.get(section)));
    sections.flatten().filter_map(Value::as_table).flat_map(|section| section.keys().map(String::as_str)).collect()
}

/// The root's Cargo.toml with only the packages `names`. Comments are dropped, since they are about
/// the whole workspace.
fn root_manifest(
    hand_in: HandIn,
    manifest: &str,
    support: &BTreeMap<String, String>,
    names: &BTreeSet<&str>,
) -> String {
    let mut reduced = String::from("[workspace]\nresolver = \"3\"\n");
    let listed = |names: &[&str]| names.iter().map(|name| format!("    {name:?},\n")).collect::<String>();
    let (crates, programs) = (listed(hand_in.crates), listed(hand_in.programs));
    let others: String = support.keys().map(|folder| format!("    {folder:?},\n")).collect();
    let _ = write!(reduced, "default-members = [\n{crates}{programs}]\nmembers = [\n{crates}{others}]\n\n");
    let mut section = "";
    for line in manifest.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with('[') {
            section = line;
        }
        let lists_packages =
            ["[workspace.dependencies]", "[patch.crates-io]", "[profile.dev.package]"].contains(&section);
        let key = line.split([' ', '.', '=']).next().unwrap_or_default();
        let is_of_another = lists_packages && !line.starts_with(['[', '"']) && !key.is_empty() && !names.contains(key);
        if section != "[workspace]" && !is_of_another {
            reduced.push_str(line);
            reduced.push('\n');
        }
    }
    reduced.truncate(reduced.trim_end().len());
    reduced.push('\n');
    reduced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dev_dependencies_are_left_out() {
        let manifest = "[dependencies]\na = \"1\"\n\n[dev-dependencies]\nb = \"1\"\n\n[target.'cfg(unix)'.dev-dependencies]\n\
                        c = \"1\"\n\n[target.'cfg(unix)'.dependencies]\nd = \"1\"\n\n[[bench]]\nname = \"x\"\n\n\
                        [build-dependencies]\ne = \"1\"\n";
        let kept = without_dev_dependencies(manifest);
        let table: Table = kept.parse().unwrap();
        assert_eq!(dependencies(&table).into_iter().collect::<Vec<_>>(), ["a", "d", "e"]);
        assert!(!kept.contains("dev-dependencies") && !kept.contains("bench"), "{kept}");
    }
}
