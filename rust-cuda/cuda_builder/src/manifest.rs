//! The parts of a crate's Cargo.toml that affect its PTX: names, source directory, path
//! dependencies.
//!
//! `cargo metadata` is not used, because it would resolve the whole workspace, and the freshness
//! check must be cheap.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use toml::{Table, Value};

use crate::BuilderError;
use crate::files::{canonical, read_text};
use crate::modules::{Modules, files_of_modules};

/// A crate with sources that affect the PTX.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The directory of Cargo.toml, absolute.
    pub(crate) directory: PathBuf,
    /// The package's name.
    pub(crate) package: String,
    table: Table,
    /// The workspace's directory and Cargo.toml, if there is one.
    workspace: Option<(PathBuf, Table)>,
}

impl Manifest {
    /// Reads `directory/Cargo.toml` and the workspace's Cargo.toml that it inherits from.
    pub(crate) fn load(directory: &Path) -> Result<Self, BuilderError> {
        let cannot_find = crate::files::cannot("find", directory);
        let directory = without_parent_components(&std::path::absolute(directory).map_err(cannot_find)?);
        let table = read_table(&directory.join("Cargo.toml"))?;
        let name = table.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let package = name.map(str::to_owned).ok_or_else(|| BuilderError::Manifest {
            path: directory.join("Cargo.toml"),
            reason: "it has no package.name".to_owned(),
        })?;
        let workspace = find_workspace(&directory, &table)?;
        Ok(Self { directory, package, table, workspace })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join("Cargo.toml")
    }

    /// The workspace's Cargo.toml, if it is another file.
    pub(crate) fn workspace_path(&self) -> Option<PathBuf> {
        let (root, _) = self.workspace.as_ref()?;
        (*root != self.directory).then(|| root.join("Cargo.toml"))
    }

    /// The directory of Cargo.lock.
    pub(crate) fn workspace_directory(&self) -> &Path {
        self.workspace.as_ref().map_or(&self.directory, |(root, _)| root)
    }

    /// The lock file of the workspace, which need not exist.
    pub(crate) fn lock_path(&self) -> PathBuf {
        self.workspace_directory().join("Cargo.lock")
    }

    /// Whether it is a crate of procedural macros.
    pub(crate) fn is_proc_macro(&self) -> bool {
        self.table.get("lib").and_then(|library| library.get("proc-macro")).and_then(Value::as_bool) == Some(true)
    }

    /// The names of the packages that it depends on for the GPU's target, excluding path
    /// dependencies.
    pub(crate) fn registry_dependencies(&self) -> BTreeSet<String> {
        let of_registry = |dependency: &Dependency<'_>| dependency.declared.get("path").is_none();
        let name = |dependency: Dependency<'_>| {
            let renamed = dependency.declared.get("package").and_then(Value::as_str);
            renamed.unwrap_or(dependency.name).to_owned()
        };
        self.dependencies().into_iter().filter(of_registry).map(name).collect()
    }

    /// The library's crate name, with `_` in place of `-`.
    pub(crate) fn library(&self) -> String {
        let name = self.library_key("name").unwrap_or(&self.package);
        name.replace('-', "_")
    }

    /// The library's root, its first source file.
    pub(crate) fn library_path(&self) -> PathBuf {
        self.directory.join(self.library_key("path").unwrap_or("src/lib.rs"))
    }

    /// The directory of the library's sources.
    pub(crate) fn source_directory(&self) -> PathBuf {
        let root = self.library_path();
        root.parent().map_or(root.clone(), Path::to_owned)
    }

    /// The source files of the package's programs that its library does not use. A program's root
    /// is `src/main.rs`, a file or a folder's `main.rs` in `src/bin`, or the path in a `[[bin]]`.
    pub(crate) fn files_of_programs(&self) -> BTreeSet<PathBuf> {
        let source = self.directory.join("src");
        let mut roots = vec![source.join("main.rs")];
        for entry in std::fs::read_dir(source.join("bin")).into_iter().flatten().flatten() {
            roots.extend([entry.path(), entry.path().join("main.rs")]);
        }
        let declared = self.table.get("bin").and_then(Value::as_array).into_iter().flatten();
        roots.extend(declared.filter_map(|program| Some(self.directory.join(program.get("path")?.as_str()?))));
        let mut files: BTreeSet<_> = roots.iter().flat_map(|root| files_of_modules(root, Modules::All)).collect();
        if !files.is_empty() {
            let of_library = files_of_modules(&self.library_path(), Modules::All);
            files.retain(|path| !of_library.contains(path));
        }
        files
    }

    /// The files and directories that only the host compiles, from
    /// `package.metadata.cuda_builder.host_only`.
    pub(crate) fn host_only(&self) -> Vec<PathBuf> {
        self.metadata("host_only").map(|path| self.directory.join(path)).collect()
    }

    /// The features that do not affect kernels, from
    /// `package.metadata.cuda_builder.host_only_features`.
    pub(crate) fn host_only_features(&self) -> BTreeSet<&str> {
        self.metadata("host_only_features").collect()
    }

    fn metadata(&self, key: &str) -> impl Iterator<Item = &str> {
        let listed = || self.table["package"].get("metadata")?.get("cuda_builder")?.get(key)?.as_array();
        listed().into_iter().flatten().filter_map(Value::as_str)
    }

    /// The names of the package's features.
    pub(crate) fn features(&self) -> impl Iterator<Item = &str> {
        self.table.get("features").and_then(Value::as_table).into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// The package's features among `names`, including those that they enable.
    pub(crate) fn features_enabled_by<'a>(&'a self, names: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
        let mut pending: Vec<&str> = names.into_iter().collect();
        let mut enabled = BTreeSet::new();
        while let Some(name) = pending.pop() {
            let Some(enables) = self.table.get("features").and_then(|features| features.get(name)) else { continue };
            if enabled.insert(name) {
                pending.extend(enables.as_array().into_iter().flatten().filter_map(Value::as_str));
            }
        }
        enabled
    }

    fn library_key(&self, key: &str) -> Option<&str> {
        self.table.get("lib")?.get(key)?.as_str()
    }

    /// The transitive path dependencies for the GPU's target, sorted by name, without duplicates.
    pub(crate) fn path_dependencies(&self) -> Result<Vec<Self>, BuilderError> {
        let mut found = BTreeMap::new();
        let mut pending = self.dependency_directories();
        while let Some(directory) = pending.pop() {
            if let Entry::Vacant(vacant) = found.entry(canonical(&directory)?) {
                let dependency = Self::load(&directory)?;
                pending.extend(dependency.dependency_directories());
                vacant.insert(dependency);
            }
        }
        let mut crates: Vec<_> = found.into_values().collect();
        crates.sort_by(|a, b| a.package.cmp(&b.package));
        Ok(crates)
    }

    fn dependency_directories(&self) -> Vec<PathBuf> {
        let path = |dependency: Dependency| Some(dependency.base.join(dependency.declared.get("path")?.as_str()?));
        self.dependencies().into_iter().filter_map(path).collect()
    }

    /// The parts of the manifest that affect the PTX as canonical text. It does not depend on
    /// comments, order or host-only entries. Paths are omitted, because they depend on the
    /// checkout; the crates that they point to are hashed instead.
    pub(crate) fn relevant_text(&self) -> String {
        let edition = self.table["package"].get("edition").and_then(|edition| match inherits(edition) {
            true => self.workspace_key("package", "edition"),
            false => Some(edition),
        });
        let mut text = format!("edition={}\n", edition.map(canonical_text).unwrap_or_default());
        let library = self.table.get("lib").map(compiled_library).unwrap_or_default();
        let features = self.table.get("features").map(canonical_text).unwrap_or_default();
        text.push_str(&format!("lib={library}\nfeatures={features}\n"));
        for Dependency { name, condition, declared, added, .. } in self.dependencies() {
            let added = added.map(text_without_path).unwrap_or_default();
            text.push_str(&format!("dependency {name} {condition:?} {} {added}\n", text_without_path(declared)));
        }
        text
    }

    /// The dependencies that may apply to the GPU's target, sorted by condition and name.
    fn dependencies(&self) -> Vec<Dependency<'_>> {
        let everywhere = self.table.get("dependencies").into_iter().map(|table| ("", table));
        let targets = self.table.get("target").and_then(Value::as_table).into_iter().flatten();
        let somewhere = targets
            .filter(|(condition, _)| !is_host_only(condition))
            .filter_map(|(condition, target)| Some((condition.as_str(), target.get("dependencies")?)));
        let mut found = Vec::new();
        for (condition, table) in everywhere.chain(somewhere) {
            for (name, declared) in table.as_table().into_iter().flatten() {
                found.push(self.dependency(name, condition, declared));
            }
        }
        found.sort_by_key(|dependency| (dependency.condition, dependency.name));
        found
    }

    fn dependency<'a>(&'a self, name: &'a str, condition: &'a str, declared: &'a Value) -> Dependency<'a> {
        let shared = self.workspace_key("dependencies", name).filter(|_| inherits(declared));
        match (shared, &self.workspace) {
            (Some(shared), Some((root, _))) => {
                Dependency { name, condition, base: root, declared: shared, added: Some(declared) }
            }
            _ => Dependency { name, condition, base: &self.directory, declared, added: None },
        }
    }

    fn workspace_key(&self, table: &str, key: &str) -> Option<&Value> {
        let (_, workspace) = self.workspace.as_ref()?;
        workspace.get("workspace")?.get(table)?.get(key)
    }
}

struct Dependency<'a> {
    name: &'a str,
    /// The `cfg` or target that it is declared for; empty for all targets.
    condition: &'a str,
    /// The directory that its path is relative to.
    base: &'a Path,
    /// Its declaration in the crate or in the crate's workspace.
    declared: &'a Value,
    /// The crate's additions to the workspace's declaration.
    added: Option<&'a Value>,
}

fn inherits(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// Whether a target's condition excludes the GPU. Only two forms are recognized, `not(gpu)` and
/// `not(any(gpu, …))`. Anything else counts as part of the PTX, so PTX may become stale too often,
/// but never too rarely.
fn is_host_only(condition: &str) -> bool {
    let condition: String = condition.split_whitespace().collect();
    condition == r#"cfg(not(target_arch="nvptx64"))"# || condition.starts_with(r#"cfg(not(any(target_arch="nvptx64","#)
}

/// The canonical text of a library's settings, except those for tests and documentation.
fn compiled_library(library: &Value) -> String {
    let mut library = library.clone();
    if let Some(table) = library.as_table_mut() {
        table.retain(|key, _| !["bench", "doc", "doctest", "test"].contains(&key));
    }
    if library.as_table().is_some_and(Table::is_empty) { String::new() } else { canonical_text(&library) }
}

/// The canonical text of a dependency, without its path.
fn text_without_path(dependency: &Value) -> String {
    let mut dependency = dependency.clone();
    if let Some(table) = dependency.as_table_mut() {
        table.retain(|key, _| !["path", "workspace"].contains(&key));
    }
    canonical_text(&dependency)
}

/// The canonical text of a value, with sorted keys and a single notation.
fn canonical_text(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let mut pairs: Vec<_> =
                table.iter().map(|(key, value)| format!("{key:?}={}", canonical_text(value))).collect();
            pairs.sort();
            format!("{{{}}}", pairs.join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(canonical_text).collect::<Vec<_>>().join(",")),
        Value::String(text) => format!("{text:?}"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Datetime(datetime) => datetime.to_string(),
    }
}

/// The path with each `..` resolved lexically, so its ancestors are the directory's ancestors.
fn without_parent_components(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            other => resolved.push(other),
        }
    }
    resolved
}

/// The workspace of the crate in `directory`: its directory and its Cargo.toml.
fn find_workspace(directory: &Path, own: &Table) -> Result<Option<(PathBuf, Table)>, BuilderError> {
    if own.contains_key("workspace") {
        return Ok(Some((directory.to_owned(), own.clone())));
    }
    if let Some(named) = own.get("package").and_then(|package| package.get("workspace")).and_then(Value::as_str) {
        let root = directory.join(named);
        let table = read_table(&root.join("Cargo.toml"))?;
        return Ok(Some((root, table)));
    }
    for ancestor in directory.ancestors().skip(1) {
        let path = ancestor.join("Cargo.toml");
        if path.is_file() {
            let table = read_table(&path)?;
            if table.contains_key("workspace") {
                return Ok(Some((ancestor.to_owned(), table)));
            }
        }
    }
    Ok(None)
}

fn read_table(path: &Path) -> Result<Table, BuilderError> {
    let text = read_text(path)?;
    text.parse().map_err(|error: toml::de::Error| BuilderError::Manifest {
        path: path.to_owned(),
        reason: error.to_string().trim_end().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace_file;

    const ROOT: &str = r#"
[workspace]
members = ["kernels", "std", "std/macros"]
[workspace.package]
edition = "2024"
[workspace.dependencies]
gpu_std = { path = "std" }
syn = "2"
"#;
    const KERNELS: &str = r#"
[package]
name = "my-kernels"
edition.workspace = true
[dependencies]
gpu_std.workspace = true
[build-dependencies]
builder = { path = "../does-not-exist" }
[target.'cfg(not(target_arch = "nvptx64"))'.dependencies]
simulator = { path = "../does-not-exist" }
[target.'cfg(not(any(target_arch = "nvptx64", all(windows, target_arch = "aarch64"))))'.dependencies]
coroutines = { path = "../does-not-exist" }
"#;
    const STD: &str = r#"
[package]
name = "gpu_std"
edition = "2021"
[dependencies]
macros = { path = "macros", features = ["full"] }
"#;
    const MACROS: &str = r#"
[package]
name = "macros"
edition = "2021"
[lib]
proc-macro = true
[dependencies]
syn = { workspace = true, features = ["full"] }
"#;

    fn workspace(kernels: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (member, text) in [(".", ROOT), ("kernels", kernels), ("std", STD), ("std/macros", MACROS)] {
            replace_file(&directory.path().join(member).join("Cargo.toml"), text).unwrap();
        }
        directory
    }

    fn load(workspace: &tempfile::TempDir, member: &str) -> Manifest {
        Manifest::load(&workspace.path().join(member)).unwrap()
    }

    #[test]
    fn path_dependencies_of_the_gpu_are_followed_through_the_workspace() {
        let workspace = workspace(KERNELS);
        let kernels = load(&workspace, "kernels");
        let names: Vec<_> = kernels.path_dependencies().unwrap().into_iter().map(|found| found.package).collect();
        assert_eq!(names, ["gpu_std", "macros"]);
        assert_eq!(kernels.library(), "my_kernels");
        assert_eq!(kernels.source_directory(), kernels.directory.join("src"));
        assert_eq!(kernels.workspace_path(), Some(workspace.path().join("Cargo.toml")));
    }

    #[test]
    fn inherited_keys_are_part_of_the_relevant_text() {
        let workspace = workspace(KERNELS);
        assert_eq!(
            load(&workspace, "kernels").relevant_text(),
            "edition=\"2024\"\nlib=\nfeatures=\ndependency gpu_std \"\" {} {}\n"
        );
        let macros = load(&workspace, "std/macros").relevant_text();
        assert!(macros.ends_with("dependency syn \"\" \"2\" {\"features\"=[\"full\"]}\n"), "{macros}");
    }

    #[test]
    fn comments_descriptions_and_host_dependencies_are_not_relevant() {
        let plain = load(&workspace(KERNELS), "kernels").relevant_text();
        let described = KERNELS.replace("[dependencies]", "description = \"Kernels\" # all of them\n[dependencies]");
        let with_tests = format!("{described}\nrayon = \"1\"\n[dev-dependencies]\ntempfile = \"3\"\n");
        assert_eq!(load(&workspace(&with_tests), "kernels").relevant_text(), plain);
        let without_unit_tests = format!("{KERNELS}\n[lib]\ntest = false\n");
        assert_eq!(load(&workspace(&without_unit_tests), "kernels").relevant_text(), plain);
        let with_libm = KERNELS.replace("[dependencies]", "[dependencies]\nlibm = \"0.2\"");
        assert_ne!(load(&workspace(&with_libm), "kernels").relevant_text(), plain);
    }

    #[test]
    fn the_error_for_an_invalid_manifest_names_it() {
        let workspace = workspace("[package\n");
        let error = |member: &str| {
            let error = Manifest::load(&workspace.path().join(member)).unwrap_err().to_string();
            error.replace(std::path::MAIN_SEPARATOR, "/")
        };
        let invalid = error("kernels");
        assert!(invalid.contains("kernels/Cargo.toml: ") && invalid.contains("line 1"), "{invalid}");
        let missing = error("nowhere");
        assert!(missing.starts_with("cannot read ") && missing.ends_with("nowhere/Cargo.toml"), "{missing}");
    }
}
