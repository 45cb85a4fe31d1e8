//! This project's crates that a student's workspace is built from, copied into the workspace
//! without tests and without solutions of the homework. Their manifests inherit nothing, since
//! there is no workspace above them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

use super::{files_below, read_text};

/// Folder of these crates in a student's workspace.
pub(crate) const FOLDER: &str = "vendor";

/// Crates that students get only in part. The other modules are solutions of the homework.
const MODULES: [(&str, &[&str]); 1] = [("kernels-cpu", &["dispatch", "memory"])];

/// Manifest sections for tests, examples and lints, which students do not get.
const LEFT_OUT: [&str; 6] = ["dev-dependencies", "lints", "bin", "test", "example", "bench"];

/// Returns the files of these crates, which are folders of the project at `root`, and of their
/// dependencies.
///
/// # Errors
/// If a crate cannot be read, has a build script, or has the same name as another one.
pub(super) fn files(root: &Path, crates: &BTreeSet<String>) -> Result<Vec<(PathBuf, String)>> {
    let mut next = crates.iter().map(|folder| canonical(&root.join(folder))).collect::<Result<Vec<_>>>()?;
    let mut files = Vec::new();
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        files.push((Path::new(FOLDER).join(license), read_text(&root.join(license))?));
    }
    let mut known = BTreeMap::new();
    while let Some(folder) = next.pop() {
        let name = name_of(&folder)?;
        if let Some(other) = known.insert(name.clone(), folder.clone()) {
            ensure!(other == folder, "{} and {} have the same name", other.display(), folder.display());
            continue;
        }
        let has_script = folder.join("build.rs").exists();
        ensure!(!has_script, "{} has a build script, which students would not get", folder.display());
        let (manifest, dependencies) = Workspace::of(&folder)?.resolved(&folder)?;
        next.extend(dependencies);
        let own = Path::new(FOLDER).join(&name);
        files.push((own.join("Cargo.toml"), manifest));
        files.extend(sources(&folder, &name)?.into_iter().map(|(path, text)| (own.join(path), text)));
    }
    Ok(files)
}

/// Sources of a crate by path within it.
fn sources(folder: &Path, name: &str) -> Result<Vec<(PathBuf, String)>> {
    let modules = MODULES.iter().find(|(of, _)| *of == name).map(|(_, modules)| *modules);
    let mut files = Vec::new();
    for file in files_below(&folder.join("src"))? {
        let path = file.strip_prefix(folder).context("a source is below its crate")?.to_owned();
        let text = read_text(&file)?;
        match modules {
            None => files.push((path, text)),
            Some(modules) if path.ends_with("src/lib.rs") => files.push((path, library(&text, modules))),
            Some(modules) => {
                let module = path.iter().nth(1).map(|name| Path::new(name).with_extension(""));
                let is_kept = module.is_some_and(|module| modules.iter().any(|kept| module == Path::new(kept)));
                files.extend(is_kept.then_some((path, text)));
            }
        }
    }
    Ok(files)
}

/// The root file of a library without the omitted modules, and without re-exports from them and
/// from other crates.
fn library(text: &str, modules: &[&str]) -> String {
    let module = |line: &str| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        let name = line.strip_prefix("mod ").or_else(|| line.strip_prefix("use "))?;
        Some(name.split([':', ';']).next().unwrap_or_default().to_owned())
    };
    let is_kept = |line: &&str| module(line).is_none_or(|name| modules.contains(&&*name));
    text.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect()
}

/// Reads the manifest in a folder.
fn manifest_in(folder: &Path) -> Result<Table> {
    let file = folder.join("Cargo.toml");
    read_text(&file)?.parse().with_context(|| file.display().to_string())
}

/// The workspace from which a crate inherits.
struct Workspace {
    table: Table,
    /// Folder of the workspace.
    root: PathBuf,
}

impl Workspace {
    fn of(folder: &Path) -> Result<Self> {
        for root in folder.ancestors().skip(1).filter(|root| root.join("Cargo.toml").is_file()) {
            if let Some(Value::Table(table)) = manifest_in(root)?.remove("workspace") {
                return Ok(Self { table, root: root.to_owned() });
            }
        }
        anyhow::bail!("{} is in no workspace", folder.display())
    }

    /// Returns the crate's manifest with inheritance resolved, and the folders of its path
    /// dependencies.
    fn resolved(&self, folder: &Path) -> Result<(String, Vec<PathBuf>)> {
        let mut manifest = manifest_in(folder)?;
        LEFT_OUT.iter().for_each(|key| drop(manifest.remove(*key)));
        let package = manifest.get_mut("package").and_then(Value::as_table_mut).context("a crate has a package")?;
        for (key, value) in package.iter_mut().filter(|(_, value)| is_inherited(value)) {
            *value = self.inherited("package", key)?;
        }
        // Students do not get the programs of these crates.
        package.insert("autobins".to_owned(), Value::Boolean(false));
        let mut folders = Vec::new();
        self.resolve_dependencies(&mut manifest, folder, &mut folders)?;
        let targets = manifest.get_mut("target").and_then(Value::as_table_mut);
        for target in targets.into_iter().flat_map(|targets| targets.iter_mut().map(|(_, target)| target)) {
            let target = target.as_table_mut().context("a target is a table")?;
            drop(target.remove("dev-dependencies"));
            self.resolve_dependencies(target, folder, &mut folders)?;
        }
        Ok((toml::to_string(&manifest)?, folders))
    }

    /// Resolves inherited dependencies, and rewrites paths to those in a student's workspace.
    fn resolve_dependencies(&self, table: &mut Table, folder: &Path, folders: &mut Vec<PathBuf>) -> Result<()> {
        for key in ["dependencies", "build-dependencies"] {
            let Some(dependencies) = table.get_mut(key).and_then(Value::as_table_mut) else { continue };
            for (name, value) in dependencies {
                let own = as_table(value.clone());
                let (mut dependency, place) = match is_inherited(value) {
                    true => (self.dependency(name, own)?, self.root.as_path()),
                    false => (own, folder),
                };
                if let Some(path) = dependency.get("path").and_then(Value::as_str) {
                    let target = canonical(&place.join(path))?;
                    dependency.insert("path".to_owned(), Value::String(format!("../{}", name_of(&target)?)));
                    folders.push(target);
                }
                *value = Value::Table(dependency);
            }
        }
        Ok(())
    }

    /// Merges the crate's `own` settings into the workspace's dependency.
    fn dependency(&self, name: &str, own: Table) -> Result<Table> {
        let mut dependency = as_table(self.inherited("dependencies", name)?);
        for (key, value) in own.into_iter().filter(|(key, _)| key != "workspace") {
            match (dependency.get_mut(&key), value) {
                (Some(Value::Array(inherited)), Value::Array(more)) => inherited.extend(more),
                (_, value) => drop(dependency.insert(key, value)),
            }
        }
        Ok(dependency)
    }

    /// Returns the workspace's value of an inherited key.
    fn inherited(&self, table: &str, key: &str) -> Result<Value> {
        let value = self.table.get(table).and_then(|table| table.get(key)).cloned();
        value.with_context(|| format!("the workspace in {} has no {table}.{key}", self.root.display()))
    }
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// Converts a dependency to a table: `"1"` becomes `{ version = "1" }`.
fn as_table(dependency: Value) -> Table {
    match dependency {
        Value::Table(table) => table,
        version => Table::from_iter([("version".to_owned(), version)]),
    }
}

fn canonical(folder: &Path) -> Result<PathBuf> {
    folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))
}

/// Name of a crate's folder.
fn name_of(folder: &Path) -> Result<String> {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).with_context(|| format!("{} has no name in UTF-8", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_the_chosen_modules_only() {
        let text = "//! Kernels.\n\npub mod dispatch;\nmod elementwise;\npub mod memory;\n\npub use dispatch::Set;\npub use pulp::Simd;\n\
            pub use elementwise::add;\n";
        let expected = "//! Kernels.\n\npub mod dispatch;\npub mod memory;\n\npub use dispatch::Set;\n";
        assert_eq!(library(text, &["dispatch", "memory"]), expected);
    }

    #[test]
    fn a_crate_is_written_with_what_it_inherits_and_without_tests() {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in [
            (
                "Cargo.toml",
                "[workspace]\n[workspace.package]\nversion = \"0.1.0\"\n[workspace.dependencies]\nb = { path = \"deep/b\" }\n\
                 rand = { version = \"0.10\", default-features = false, features = [\"std\"] }\ntempfile = \"3\"\n",
            ),
            (
                "a/Cargo.toml",
                "[package]\nname = \"a\"\nversion.workspace = true\n[dependencies]\nanyhow = \"1\"\n\
                 rand = { workspace = true, features = [\"chacha\"], optional = true }\n[target.'cfg(unix)'.dependencies]\n\
                 b.workspace = true\n[target.'cfg(unix)'.dev-dependencies]\ntempfile.workspace = true\n[dev-dependencies]\n\
                 tempfile.workspace = true\n[[test]]\nname = \"t\"\n[lints]\nworkspace = true\n",
            ),
            ("a/src/lib.rs", "//! A.\n"),
            ("a/tests/t.rs", "//! T.\n"),
            ("deep/b/Cargo.toml", "[package]\nname = \"b\"\nversion = \"2.0.0\"\n"),
            ("deep/b/src/lib.rs", "//! B.\n"),
            ("LICENSE-APACHE", "Apache\n"),
            ("LICENSE-MIT", "MIT\n"),
        ] {
            let file = root.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let files: BTreeMap<PathBuf, String> =
            files(root.path(), &BTreeSet::from(["a".to_owned()])).unwrap().into_iter().collect();
        let names: Vec<String> = files.keys().map(|name| name.display().to_string().replace('\\', "/")).collect();
        let expected =
            ["LICENSE-APACHE", "LICENSE-MIT", "a/Cargo.toml", "a/src/lib.rs", "b/Cargo.toml", "b/src/lib.rs"];
        assert_eq!(names, expected.map(|name| format!("vendor/{name}")));
        let manifest: Table = files[Path::new("vendor/a/Cargo.toml")].parse().unwrap();
        let expected: Table = "[package]\nname = \"a\"\nversion = \"0.1.0\"\nautobins = false\n[dependencies.anyhow]\nversion = \"1\"\n\
            [dependencies.rand]\nversion = \"0.10\"\ndefault-features = false\nfeatures = [\"std\", \"chacha\"]\noptional = true\n\
            [target.'cfg(unix)'.dependencies.b]\npath = \"../b\"\n"
            .parse()
            .unwrap();
        assert_eq!(manifest, expected);
        std::fs::write(root.path().join("a/build.rs"), "fn main() {}\n").unwrap();
        let error = super::files(root.path(), &BTreeSet::from(["a".to_owned()])).unwrap_err().to_string();
        assert!(error.contains("has a build script"), "{error}");
    }
}
