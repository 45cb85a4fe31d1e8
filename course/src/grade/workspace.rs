//! The grader's two workspaces, both based on the starter's workspace.
//!
//! The first holds the sources of one submission at a time. It has a program for each part that
//! calls the part's functions for the judge, and a second copy of the kernels that is compiled to
//! PTX. It contains neither solutions nor tests. The second workspace is the judge's: the
//! solutions, and the tests, which call the functions in the submission's process.
//!
//! A file that is unchanged since the previous submission is not rewritten. An unchanged part, as
//! in a second attempt, is therefore not recompiled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use proc_macro2::{TokenStream, TokenTree};

use super::submission::{self, Form, PartFiles, Sources};
use crate::starter::{self, Part, read_text};
use crate::workspace_root;

/// Placeholder for the submission's kernel while the dependencies are compiled.
const NO_KERNEL: &str = "#[cuda_std::kernel]\npub fn nothing(x: &[f32]) {\n    let _ = x;\n}\n";

pub(super) struct Workspace {
    folder: PathBuf,
    parts: Vec<Part>,
    /// The given sources, which replace a part that a submission does not have.
    starter_sources: BTreeMap<PathBuf, String>,
    /// The given manifests of the parts, by package name.
    manifests: BTreeMap<&'static str, String>,
    /// The workspace's manifests for submissions in the starter's form and in the form of this
    /// project's crates.
    own_manifests: [String; 2],
}

/// Crates that the parts' programs share. They depend on kernels-cpu, which contains solutions.
/// Submissions in the starter's form get it with only two of its modules, like the students.
pub(super) const OF_PROGRAMS: [&str; 2] = ["crates/command_line", "crates/timing"];

impl Workspace {
    /// Writes the workspace for submissions of these parts, replacing the folder.
    pub(super) fn create(folder: &Path, parts: &[Part]) -> Result<Self> {
        write_starter(folder, parts, false)?;
        let mut members = Vec::new();
        for &part in parts {
            let package = part.package();
            let runner = folder.join(runner(part));
            // The code that counts messages or launches kernels is provided, not taken from the
            // submission.
            let more = match part {
                Part::Distributed => "mpi_driver.workspace = true\n",
                Part::Learn => "cuda_std.workspace = true\ngpu.workspace = true\n",
                _ => "",
            };
            write(&runner.join("Cargo.toml"), &format!("{}{more}", template("runner/Cargo.toml", part)?))?;
            write(&runner.join("src/main.rs"), &template(&format!("{package}/runner.rs"), part)?)?;
            // The drivers that call the functions are given; a submission's versions are not used.
            for (name, file) in starter::templates_of(part)?.iter().filter(|(name, _)| is_of_driver(name)) {
                let name = name.file_name().context("a source has a name")?;
                write(&runner.join("src").join(name), &read_text(file)?)?;
            }
            members.push(self::runner(part));
            if kernels(part).is_some() {
                let ptx = folder.join(ptx(part));
                write(&ptx.join("Cargo.toml"), &template("ptx/Cargo.toml", part)?)?;
                write(&ptx.join("build.rs"), &template("ptx/build.rs", part)?)?;
                write_kernels(&ptx, &BTreeMap::from([("kernel".to_owned(), NO_KERNEL)]))?;
                members.push(self::ptx(part));
            }
        }
        add_members(folder, &members)?;
        for (name, text) in starter::vendored(&OF_PROGRAMS)? {
            write(&folder.join(name), &text)?;
        }
        let of_project = read_text(&folder.join("Cargo.toml"))?;
        let mut of_starter = of_project.clone();
        for name in OF_PROGRAMS {
            let path = format!("{:?}", workspace_root().join(name));
            ensure!(of_starter.contains(&path), "the starter's Cargo.toml does not have {path}");
            let name = name.rsplit('/').next().unwrap_or(name);
            of_starter = of_starter.replace(&path, &format!("\"{}/{name}\"", starter::VENDOR));
        }
        write(&folder.join("Cargo.toml"), &of_starter)?;
        let (mut starter_sources, mut manifests) = (BTreeMap::new(), BTreeMap::new());
        for &part in parts {
            manifests.insert(part.package(), read_text(&folder.join(part.package()).join("Cargo.toml"))?);
            for file in starter::files_below(&folder.join(part.package()).join("src"))? {
                let name = file.strip_prefix(folder).context("the file is below the folder")?.to_owned();
                starter_sources.insert(name, read_text(&file)?);
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            parts: parts.to_vec(),
            starter_sources,
            manifests,
            own_manifests: [of_starter, of_project],
        })
    }

    /// The sources that students are given, by path.
    pub(super) fn starter_sources(&self) -> &BTreeMap<PathBuf, String> {
        &self.starter_sources
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Folders of this project's crates that the workspace depends on, and the manifests above
    /// them.
    ///
    /// # Errors
    /// If cargo does not find them, or a crate from outside this project is not pinned.
    pub(super) fn dependencies(&self, cargo: &mut std::process::Command) -> Result<Vec<PathBuf>> {
        let root = workspace_root();
        let mut paths: BTreeSet<PathBuf> =
            ["rust-toolchain.toml", "rust-cuda/find_cuda_helper"].map(|name| root.join(name)).into();
        for package in pinned_packages(cargo, &self.folder)? {
            let manifest = Path::new(package["manifest_path"].as_str().context("a package has a manifest")?);
            if package["source"].is_null() && !manifest.starts_with(&self.folder) {
                // Cargo looks for the workspace's manifest in the parent folders.
                let above = manifest.ancestors().skip(2).take_while(|folder| folder.starts_with(root));
                paths.extend(above.map(|folder| folder.join("Cargo.toml")).filter(|file| file.is_file()));
                paths.extend(manifest.parent().map(Path::to_owned));
            }
        }
        Ok(paths.into_iter().collect())
    }

    /// Replaces the sources with a submission's. Programs are given and not compiled: the library
    /// alone compiles faster.
    pub(super) fn put(&self, sources: &Sources) -> Result<()> {
        let own = match sources.form {
            Form::Starter => &self.own_manifests[0],
            Form::Project => &self.own_manifests[1],
        };
        write_if_other(&self.folder.join("Cargo.toml"), own)?;
        if sources.form == Form::Project {
            // This form has more dependencies, which cargo has dropped from the lock file.
            write(&self.folder.join("Cargo.lock"), &pins()?.to_string())?;
        }
        for &part in &self.parts {
            let package = part.package();
            if kernels(part).is_some() {
                // Replaces the previous submission's kernels.
                self.put_given_kernel(part)?;
            }
            let mut files: BTreeMap<&PathBuf, &String> = BTreeMap::new();
            // A student may hand in only the file of puzzles.
            if !sources.has(part) || part == Part::Learn {
                files.extend(&self.starter_sources);
            }
            if sources.has(part) {
                files.extend(&sources.files);
            }
            let program = Path::new(package).join("src/main.rs");
            let manifest = Path::new(package).join("Cargo.toml");
            let more = match sources.form {
                Form::Starter => String::new(),
                Form::Project => dependencies_of_project(part),
            };
            write_if_other(&self.folder.join(manifest), &format!("{}{more}", self.manifests[package]))?;
            let is_compiled = |path: &Path| path.starts_with(package) && path != program;
            for old in starter::files_below(&self.folder.join(package).join("src"))? {
                let name = old.strip_prefix(&self.folder).context("the file is below the folder")?;
                if !is_compiled(name) || !files.keys().any(|file| *file == name) {
                    std::fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
                }
            }
            for (name, text) in files.into_iter().filter(|(name, _)| is_compiled(name)) {
                let file = self.folder.join(name);
                // A file may have the same name as a folder of an earlier submission.
                if file.is_dir() {
                    std::fs::remove_dir_all(&file).with_context(|| format!("cannot remove {}", file.display()))?;
                }
                write_if_other(&file, text)?;
            }
        }
        Ok(())
    }

    /// Replaces a part's kernel with one that is always valid and differs from the one compiled
    /// with the dependencies.
    ///
    /// # Errors
    /// If the kernel cannot be written.
    pub(super) fn put_given_kernel(&self, part: Part) -> Result<()> {
        let kernel = format!("// In the sandbox.\n{NO_KERNEL}");
        write_kernels(&self.folder.join(ptx(part)), &BTreeMap::from([("kernel".to_owned(), &*kernel)]))
    }

    /// Copies a part's kernels, and the submission's files they use through `crate::FILE`, to the
    /// place where they are compiled to PTX.
    ///
    /// # Errors
    /// If the files cannot be written. The inner error names the function that is not yet written.
    pub(super) fn put_kernels(&self, part: Part, files: &PartFiles) -> Result<Result<(), String>> {
        let Some(kernels) = kernels(part) else { return Ok(Ok(())) };
        let source = |module: &str| {
            let path = Path::new(part.package()).join(format!("src/{module}.rs"));
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_str())
        };
        let mut modules = BTreeMap::new();
        let mut next = vec![kernels.to_owned()];
        while let Some(module) = next.pop() {
            let Some(text) = source(&module) else { continue };
            if let Some((_, rest)) = text.split_once("not_written!(\"") {
                return Ok(Err(format!("not written yet: {}", rest.split('"').next().unwrap_or_default())));
            }
            if modules.insert(module, text).is_none() {
                next.extend(text.parse().map(|tokens| of_crate(tokens, 0)).unwrap_or_default());
            }
        }
        write_kernels(&self.folder.join(ptx(part)), &modules).map(Ok)
    }
}

/// This project's lock files, which fix one version and one checksum for each external crate.
const LOCKS: [&str; 2] = ["Cargo.lock", "course/Cargo.lock"];

/// A lock file with the packages of all [`LOCKS`]. Cargo keeps those that a workspace depends on.
fn pins() -> Result<toml::Table> {
    let read = |name| -> Result<toml::Table> {
        read_text(&workspace_root().join(name))?.parse().with_context(|| format!("{name} is no lock file"))
    };
    let mut pins = read(LOCKS[0])?;
    let packages = pins.get_mut("package").and_then(toml::Value::as_array_mut).context("a lock file has packages")?;
    let is_same =
        |a: &toml::Value, b: &toml::Value| (a.get("name"), a.get("version")) == (b.get("name"), b.get("version"));
    for name in &LOCKS[1..] {
        for package in read(name)?.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
            if !packages.iter().any(|known| is_same(known, package)) {
                packages.push(package.clone());
            }
        }
    }
    Ok(pins)
}

/// Returns the packages that a workspace depends on, according to cargo, which completes the
/// workspace's lock file.
///
/// # Errors
/// If an external package is not in [`LOCKS`]: submissions would then be compiled with the newest
/// version.
pub(super) fn pinned_packages(cargo: &mut std::process::Command, folder: &Path) -> Result<Vec<serde_json::Value>> {
    let output = cargo.args(["metadata", "--format-version", "1"]).current_dir(folder).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
    let mut metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata writes JSON")?;
    let serde_json::Value::Array(packages) = metadata["packages"].take() else { bail!("cargo names no packages") };
    require_pinned(&packages)?;
    Ok(packages)
}

/// Checks that cargo's external packages are in [`LOCKS`].
fn require_pinned(packages: &[serde_json::Value]) -> Result<()> {
    let pins = pins()?;
    let pins = pins.get("package").and_then(toml::Value::as_array).context("a lock file has packages")?;
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        let [name, version, source] = ["name", "version", "source"].map(|key| package[key].as_str());
        let get = |pin: &toml::Value, key| pin.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let is_pin = |pin: &toml::Value| {
            ["name", "version", "source"].map(|key| get(pin, key))
                == [name, version, source].map(|text| text.map(str::to_owned))
        };
        let [name, version] = [name, version].map(Option::unwrap_or_default);
        ensure!(
            pins.iter().any(is_pin),
            "submissions would be compiled with {name} {version}, which is in none of {}: run `cargo update --workspace` where it is added",
            LOCKS.join(", ")
        );
    }
    Ok(())
}

/// Dependencies of this project's own part that the starter's part does not have.
fn dependencies_of_project(part: Part) -> String {
    let line = |folder: &&str| {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        format!("{name} = {{ path = {:?} }}\n", workspace_root().join(folder))
    };
    match kernels(part) {
        None => "thiserror.workspace = true\n".to_owned(),
        Some(_) => submission::KERNELS.iter().map(line).collect(),
    }
}

/// Names after `crate::` and `super::`, down to the maximum bracket depth of a source.
fn of_crate(tokens: TokenStream, depth: usize) -> Vec<String> {
    if depth > submission::MAX_BRACKETS {
        return Vec::new();
    }
    let (mut names, mut is_after) = (Vec::new(), false);
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "crate" || ident == "super" => is_after = true,
            TokenTree::Ident(ident) => {
                names.extend(is_after.then(|| ident.to_string()));
                is_after = false;
            }
            TokenTree::Punct(punct) => is_after &= punct.as_char() == ':',
            TokenTree::Group(group) if is_after => {
                names.extend(group.stream().into_iter().filter_map(|token| match token {
                    TokenTree::Ident(ident) => Some(ident.to_string()),
                    _ => None,
                }));
                is_after = false;
            }
            TokenTree::Group(group) => names.extend(of_crate(group.stream(), depth + 1)),
            TokenTree::Literal(_) => is_after = false,
        }
    }
    names
}

/// The published solutions of these parts: the output of `cargo course starter --solutions` below
/// `solutions`, and this project's own crates below `project`.
pub(super) fn published_solutions(parts: &[Part]) -> Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    for &part in parts {
        files.extend(
            starter::solutions(part)?.into_iter().map(|(name, text)| (Path::new("solutions").join(name), text)),
        );
    }
    let crates = parts.iter().map(|part| part.package()).chain(submission::KERNELS);
    for folder in crates {
        for file in starter::files_below(&workspace_root().join(folder).join("src"))? {
            let name = file.strip_prefix(workspace_root()).context("the file is in this project")?;
            if file.extension().is_some_and(|extension| extension == "rs") {
                files.insert(Path::new("project").join(name), read_text(&file)?);
            }
        }
    }
    Ok(files)
}

/// Whether a given source calls the functions, or supports such a source.
fn is_of_driver(name: &Path) -> bool {
    let names = ["src/drive.rs", "learn/src/cases.rs", "learn/src/checks.rs"];
    names.into_iter().any(|file| name.ends_with(file))
}

/// Package of a part's program that calls its functions.
pub(super) fn runner(part: Part) -> String {
    format!("{}_runner", part.package())
}

/// Package that compiles a part's kernels to PTX.
pub(super) fn ptx(part: Part) -> String {
    format!("{}_ptx", part.package())
}

/// Package of a part's tests.
pub(super) fn judge(part: Part) -> String {
    format!("{}_judge", part.package())
}

/// File of a part's kernels, without `.rs`.
pub(super) fn kernels(part: Part) -> Option<&'static str> {
    part.kernel().map(|(file, _)| file)
}

/// Returns a given source of a part, if the starter has it.
fn starter_source(part: Part, name: &str) -> Result<Option<String>> {
    let file = workspace_root().join("course/starter").join(part.package()).join("src").join(name);
    if file.exists() { read_text(&file).map(Some) } else { Ok(None) }
}

/// Writes the judge's workspace with the tests of these parts, for submissions of a form, replacing
/// the folder. The tests launch a submission's PTX with the starter's solutions, or with this
/// project's own crates.
pub(super) fn create_judge(folder: &Path, parts: &[Part], form: Form) -> Result<()> {
    let (starter, root) = (workspace_root().join("course/starter"), workspace_root());
    // Part 1 has no kernels and is the same in both forms; a workspace cannot contain two packages
    // of the same name.
    let written = match form {
        Form::Starter => parts,
        Form::Project => &[Part::One],
    };
    write_starter(folder, written, true)?;
    let mut members = Vec::new();
    for &part in parts {
        let package = part.package();
        let judge = folder.join(self::judge(part));
        let manifest = template("judge/Cargo.toml", part)?;
        let own = format!("path = {:?}", root.join(package));
        let manifest = match form {
            Form::Starter => manifest,
            Form::Project => manifest.replace(&format!("path = \"../{package}\""), &own),
        };
        write(&judge.join("Cargo.toml"), &manifest)?;
        write(&judge.join("src/lib.rs"), &template(&format!("{package}/proxy.rs"), part)?)?;
        if let Some(check) = starter_source(part, "check.rs")? {
            write(&judge.join("src/check.rs"), &check)?;
        }
        let public = read_text(&starter.join(package).join("tests/public.rs"))?;
        let mut public = public.replace(&format!("use {package}::"), &format!("use {package}_judge::"));
        let templates = workspace_root().join("course/grading").join(package);
        if templates.join("hidden.rs").exists() {
            write(&judge.join("tests/hidden/mod.rs"), &read_text(&templates.join("hidden.rs"))?)?;
            public.push_str("\nmod hidden;\n");
        }
        write(&judge.join("tests/public.rs"), &public)?;
        if kernels(part).is_some() {
            write(&judge.join("tests/ptx.rs"), &read_text(&templates.join("ptx.rs"))?)?;
        }
        members.push(self::judge(part));
    }
    add_members(folder, &members)
}

fn write_starter(folder: &Path, parts: &[Part], solutions: bool) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    starter::write(folder, parts, solutions)
}

/// Reads a part's file in `grading`.
fn template(name: &str, part: Part) -> Result<String> {
    let text = read_text(&workspace_root().join("course/grading").join(name))?;
    Ok(text.replace("PACKAGE", part.package()))
}

/// Adds packages and their dependencies to the starter's Cargo.toml, and optimizes the code that
/// compares results.
fn add_members(folder: &Path, packages: &[String]) -> Result<()> {
    let manifest = folder.join("Cargo.toml");
    let members: String = packages.iter().map(|package| format!("\"{package}\", ")).collect();
    let path = |name: &str| workspace_root().join(name);
    let (cuda_builder, grader) = (path("rust-cuda/cuda_builder"), path("course/grader"));
    let optimised =
        ["grader", "kernels-cpu", "postcard", "ptx-interpreter", "serde"].map(|name| format!("{name}.opt-level = 3\n"));
    let edits = [
        ("members = [".to_owned(), format!("members = [{members}")),
        (
            "[workspace.dependencies]\n".to_owned(),
            format!(
                "[workspace.dependencies]\ncuda_builder = {{ path = {cuda_builder:?} }}\ngrader = {{ path = {grader:?} }}\n"
            ),
        ),
        ("[profile.dev.package]\n".to_owned(), format!("[profile.dev.package]\n{}", optimised.concat())),
    ];
    let mut text = read_text(&manifest)?;
    for (from, to) in edits {
        ensure!(text.matches(&from).count() == 1, "the starter's Cargo.toml does not have one {from:?}");
        text = text.replace(&from, &to);
    }
    // The judge's crates use a GPU driver even if a part's crates do not.
    if !text.contains("[patch.crates-io]") {
        text.push_str(&format!(
            "\n[patch.crates-io]\nfind_cuda_helper = {{ path = {:?} }}\n",
            path("rust-cuda/find_cuda_helper")
        ));
    }
    write(&manifest, &text)?;
    write(&folder.join("Cargo.lock"), &pins()?.to_string())
}

/// Writes the sources of a package of kernels: exactly these modules.
fn write_kernels(package: &Path, modules: &BTreeMap<String, &str>) -> Result<()> {
    let folder = package.join("src");
    let mut library =
        "#![no_std]\n#![cfg(target_arch = \"nvptx64\")]\n#![feature(abi_ptx, asm_experimental_arch)]\n".to_owned();
    let mut written = BTreeSet::from([folder.join("lib.rs")]);
    for (module, text) in modules {
        library.push_str(&format!("pub mod {module};\n"));
        let file = folder.join(format!("{module}.rs"));
        write_if_other(&file, text)?;
        written.insert(file);
    }
    write_if_other(&folder.join("lib.rs"), &library)?;
    for old in starter::files_below(&folder)?.into_iter().filter(|old| !written.contains(old)) {
        std::fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    Ok(())
}

fn write_if_other(file: &Path, text: &str) -> Result<()> {
    let is_same = std::fs::read_to_string(file).is_ok_and(|old| old == text);
    if is_same { Ok(()) } else { write(file, text) }
}

fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().with_context(|| format!("{} is in no folder", file.display()))?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grade_knows_the_files_that_a_kernel_uses() {
        for (text, expected) in [
            ("use crate::shape::larger;", vec!["shape"]),
            ("use super::{one, two::f};", vec!["one", "two", "f"]),
            ("fn f() { crate::deep::g(super::other::X) }", vec!["deep", "other"]),
            ("use cuda_std::thread; fn f() -> u32 { 1 }", vec![]),
        ] {
            assert_eq!(of_crate(text.parse().unwrap(), 0), expected, "{text}");
        }
    }

    #[test]
    fn grade_looks_for_the_files_of_a_kernel_in_deep_brackets_without_an_overflow() {
        let deep = format!("{}crate::deep{}", "(".repeat(500_000), ")".repeat(500_000));
        assert_eq!(of_crate(format!("use crate::shape; fn f() {{ {deep} }}").parse().unwrap(), 0), ["shape"]);
    }

    #[test]
    fn grade_knows_the_published_solutions_of_every_part() {
        for part in Part::ALL {
            let files = published_solutions(&[part]).unwrap();
            let has = |folder: &str| files.keys().any(|path| path.starts_with(Path::new(folder).join(part.package())));
            assert!(has("solutions") && has("project"), "{part:?}: {:?}", files.keys());
            assert!(!files.values().any(|text| text.contains("not_written!(\"")), "{part:?}");
        }
    }

    /// Checks what the compiler may read besides the submission: no `include!` finds a solution
    /// there.
    #[test]
    fn grade_compiles_submissions_where_no_solution_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("homework");
        let workspace = Workspace::create(&root, &Part::ALL).unwrap();
        let readable = workspace.dependencies(&mut std::process::Command::new(env!("CARGO"))).unwrap();
        assert!(readable.contains(&workspace_root().join("course/grader")), "{readable:?}");
        let solutions = published_solutions(&Part::ALL).unwrap();
        let of_project = solutions.keys().filter_map(|name| name.strip_prefix("project").ok());
        for file in of_project.map(|name| workspace_root().join(name)) {
            assert!(!readable.iter().any(|folder| file.starts_with(folder)), "{}", file.display());
        }
        for folder in ["course/starter", "course/grading", "course/tests", "crates/kernels-cpu"] {
            let folder = workspace_root().join(folder);
            let overlaps = |path: &PathBuf| path.starts_with(&folder) || folder.starts_with(path);
            assert!(!readable.iter().any(overlaps), "{readable:?}");
        }
        assert!(!root.join("vendor/kernels-cpu/src/maximum.rs").exists() && root.join("vendor/timing").exists());
    }

    #[test]
    fn grade_leaves_nothing_of_the_submission_before_in_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("homework");
        let workspace = Workspace::create(&root, &[Part::One, Part::Two]).unwrap();
        let own = "// A student's own line.\n";
        let files: PartFiles = ["kernel", "shape", "more/deep"]
            .map(|name| (format!("max_functions/src/{name}.rs").into(), format!("{own}use crate::shape::x;\n")))
            .into();
        let sources = Sources { files: files.iter().cloned().collect(), ..Sources::default() };
        workspace.put(&sources).unwrap();
        workspace.put_kernels(Part::Two, &files).unwrap().unwrap();
        let own_files = || {
            let files = starter::files_below(&root).unwrap();
            files.into_iter().filter(|file| read_text(file).is_ok_and(|text| text.contains(own))).count()
        };
        assert_eq!(own_files(), 5);
        let next = ("utils/src/lists.rs".into(), "fn f() {}\n".to_owned());
        workspace.put(&Sources { files: BTreeMap::from([next]), ..Sources::default() }).unwrap();
        assert_eq!(own_files(), 0);
    }

    /// Cargo finds the targets of each package in the written workspaces.
    #[test]
    fn grade_writes_workspaces_that_cargo_reads() {
        let folder = tempfile::tempdir().unwrap();
        let [submission, judge] = ["submission", "judge"].map(|name| folder.path().join(name));
        Workspace::create(&submission, &Part::ALL).unwrap();
        create_judge(&judge, &Part::ALL, Form::Starter).unwrap();
        for (workspace, package) in [(submission, "max_functions_runner"), (judge, "max_functions_judge")] {
            let packages = pinned_packages(&mut std::process::Command::new(env!("CARGO")), &workspace).unwrap();
            assert!(packages.iter().any(|found| found["name"] == package), "{packages:?}");
            for dependency in packages.iter().flat_map(|package| package["dependencies"].as_array().unwrap()) {
                let path = dependency["path"].as_str();
                assert!(path.is_none_or(|path| Path::new(path).join("Cargo.toml").is_file()), "{dependency}");
            }
            // The checksums of the compiled crates are the project's.
            let [lock, pins] = [read_text(&workspace.join("Cargo.lock")).unwrap().parse().unwrap(), pins().unwrap()];
            let packages = |lock: &toml::Table| lock["package"].as_array().unwrap().clone();
            let pins = packages(&pins);
            let of_others: Vec<_> =
                packages(&lock).into_iter().filter(|package| package.get("checksum").is_some()).collect();
            assert!(of_others.len() > 50, "{of_others:?}");
            let is_pinned = |package: &toml::Value| {
                pins.iter()
                    .any(|pin| ["name", "version", "checksum"].iter().all(|key| pin.get(key) == package.get(key)))
            };
            let other = of_others.iter().find(|package| !is_pinned(package));
            assert!(other.is_none(), "{other:?}");
        }
    }

    #[test]
    fn grade_compiles_submissions_with_no_crate_that_is_not_pinned() {
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        let package = |version: &str, source: Option<&str>| {
            let version = version.to_owned();
            serde_json::json!({ "name": "postcard", "version": version, "source": source })
        };
        let pinned = pins().unwrap()["package"].as_array().unwrap().clone();
        let version = pinned.iter().find(|pin| pin["name"].as_str() == Some("postcard")).unwrap()["version"].clone();
        let version = version.as_str().unwrap();
        require_pinned(&[package(version, Some(registry)), package("9.9.9", None)]).unwrap();
        for package in [package("9.9.9", Some(registry)), package(version, Some("registry+https://example.org"))] {
            let error = require_pinned(&[package]).unwrap_err().to_string();
            assert!(error.contains("which is in none of Cargo.lock, course/Cargo.lock: run `cargo update"), "{error}");
        }
    }
}
