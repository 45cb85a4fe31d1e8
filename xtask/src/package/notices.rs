//! The notices of the crates that a program contains. Their licenses require these to accompany it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::capture::stdout_of;
use crate::cargo::cargo;
use crate::workspace::Workspace;

/// The name, version, license and notices of each crate that the package contains on that system.
/// Identical texts are listed once.
///
/// # Errors
/// If cargo does not list the crates, or a file cannot be read.
pub(super) fn listing(workspace: Workspace, package: &str, triple: &str) -> Result<String> {
    let arguments = ["metadata", "--format-version=1", "--locked", "--filter-platform", triple];
    let listed = stdout_of(cargo(workspace).args(arguments))?;
    let metadata: Metadata = serde_json::from_str(&listed).context("cargo metadata prints another format")?;
    let crates = metadata.contained(package)?;
    let mut text = format!("{package} contains these crates:\n\n");
    let mut notices: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Crate { name, version, license, repository, manifest_path, .. } in crates {
        let license = license.as_deref().unwrap_or("see its notice");
        writeln!(text, "{name} {version}: {license} {}", repository.as_deref().unwrap_or_default())?;
        for notice in license_texts(manifest_path)? {
            notices.entry(notice).or_default().push(format!("{name} {version}"));
        }
    }
    for (notice, crates) in notices {
        writeln!(text, "\n{}\n{}\n\n{notice}", "=".repeat(80), crates.join(", "))?;
    }
    Ok(text)
}

/// The texts of the license files in a crate's folder and in the folders directly below it, where fonts
/// and bundled sources have theirs. In a folder with fonts, every text file counts as a license.
fn license_texts(manifest: &Path) -> Result<Vec<String>> {
    let folder = manifest.parent().context("a Cargo.toml has a folder")?;
    let paths = files_in(folder)?;
    let mut files: Vec<PathBuf> = paths.iter().filter(|path| has_name_of_license(path)).cloned().collect();
    for folder in paths.iter().filter(|path| path.is_dir()) {
        let inside = files_in(folder)?;
        let has_fonts = inside.iter().any(|path| has_extension(path, &["ttf", "otf"]));
        let is_license = |path: &PathBuf| has_name_of_license(path) || has_fonts && has_extension(path, &["txt", "md"]);
        files.extend(inside.into_iter().filter(is_license));
    }
    let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim().to_owned();
    files.iter().filter(|path| path.is_file()).map(|path| read(path).map(text)).collect()
}

/// The paths in a folder, sorted.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|own| extensions.iter().any(|extension| own.eq_ignore_ascii_case(extension)))
}

fn has_name_of_license(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"].iter().any(|start| name.starts_with(start))
        && !name.ends_with(".RS")
}

/// The parts of `cargo metadata`'s output that are used here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Crate>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Crate {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    repository: Option<String>,
    manifest_path: PathBuf,
    /// `None` for a package of the workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `None` for a normal dependency, otherwise "dev" or "build".
    kind: Option<String>,
}

impl Metadata {
    /// The third-party crates that `package` depends on, directly or indirectly, sorted by name and
    /// version. Dependencies of its tests and of build scripts are excluded.
    fn contained(&self, package: &str) -> Result<Vec<&Crate>> {
        let nodes: HashMap<&str, &Node> = self.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let first = self.packages.iter().find(|listed| listed.name == package && listed.source.is_none());
        let mut next = vec![first.with_context(|| format!("cargo metadata lists no {package}"))?.id.as_str()];
        let mut found = BTreeSet::new();
        while let Some(id) = next.pop() {
            if found.insert(id) {
                let dependencies = nodes.get(id).map_or(&[][..], |node| &node.deps);
                let is_normal = |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
                next.extend(dependencies.iter().filter(is_normal).map(|dependency| dependency.pkg.as_str()));
            }
        }
        let is_contained = |listed: &&Crate| listed.source.is_some() && found.contains(listed.id.as_str());
        let mut contained: Vec<&Crate> = self.packages.iter().filter(is_contained).collect();
        contained.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok(contained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_has_the_licenses_of_a_crates_fonts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{name}\r\n")).unwrap();
        };
        let licenses = ["LICENSE-MIT", "fonts/OFL.txt", "fonts/a-license.txt", "third_party/COPYING"];
        for name in
            ["Cargo.toml", "README.txt", "fonts/a.ttf", "src/license.rs", "src/notes.txt"].iter().chain(&licenses)
        {
            write(name);
        }
        assert_eq!(license_texts(&folder.path().join("Cargo.toml")).unwrap(), licenses);
    }

    #[test]
    fn package_lists_normal_dependencies_of_others_alone() {
        let listed = |id: &str, source: &str| {
            format!(
                r#"{{"id":"{id}","name":"{id}","version":"1.0.0","license":"MIT","repository":null,"manifest_path":"/{id}/Cargo.toml","source":{source}}}"#
            )
        };
        let dependency = |id: &str, kind: &str| format!(r#"{{"pkg":"{id}","dep_kinds":[{{"kind":{kind}}}]}}"#);
        let node = |id: &str, deps: &[String]| format!(r#"{{"id":"{id}","deps":[{}]}}"#, deps.join(","));
        let others = ["used", "through", "tested", "built", "unused"].map(|id| listed(id, "\"registry\""));
        let packages = [listed("program", "null"), listed("own", "null")].into_iter().chain(others);
        let nodes = [
            node(
                "program",
                &[dependency("own", "null"), dependency("tested", "\"dev\""), dependency("built", "\"build\"")],
            ),
            node("own", &[dependency("used", "null")]),
            node("used", &[dependency("through", "null")]),
        ];
        let packages = packages.collect::<Vec<_>>().join(",");
        let text = format!(r#"{{"packages":[{packages}],"resolve":{{"nodes":[{}]}}}}"#, nodes.join(","));
        let metadata: Metadata = serde_json::from_str(&text).unwrap();
        let names: Vec<&str> =
            metadata.contained("program").unwrap().iter().map(|listed| listed.name.as_str()).collect();
        assert_eq!(names, ["through", "used"]);
        assert!(metadata.contained("missing").is_err());
    }
}
