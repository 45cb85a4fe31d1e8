//! The workspace that submissions are graded in: the starter's with the grader's own tests, and one submission's sources
//! after the other.
//!
//! A file that does not differ from the submission's before is not written, so that a part that was not changed, as in a
//! second attempt, is not compiled again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::points::Program;
use super::submission::Sources;
use crate::starter::{self, Part, read};
use crate::workspace_root;

pub(super) struct Workspace {
    folder: PathBuf,
    /// The solutions, in place of a part that a submission does not have.
    solutions: BTreeMap<PathBuf, String>,
}

impl Workspace {
    /// Writes the workspace with the solutions to a folder, which is replaced.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        if folder.exists() {
            std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        starter::write(folder, &Part::HOMEWORK, true)?;
        let templates = workspace_root().join("crates/course/grading");
        for part in Part::HOMEWORK {
            let package = part.package();
            let hidden = templates.join(package).join("hidden.rs");
            if hidden.exists() {
                let tests = folder.join(package).join("tests");
                write(&tests.join("hidden/mod.rs"), &read(&hidden)?)?;
                write(&tests.join("hidden/only_launch.rs"), &read(&templates.join("only_launch.rs"))?)?;
                let public = tests.join("public.rs");
                write(&public, &format!("{}\nmod hidden;\n", read(&public)?))?;
            }
            let Some(kernels) = kernels(part) else { continue };
            let filled = |name: &str| {
                let text = read(&templates.join("ptx").join(name))?;
                let module = kernels.trim_end_matches(".rs");
                Ok::<_, anyhow::Error>(text.replace("PACKAGE", package).replace("KERNELS", module))
            };
            let ptx = folder.join(Self::package(part, Program::Ptx));
            for (name, file) in [("Cargo.toml", "Cargo.toml"), ("build.rs", "build.rs"), ("lib.rs", "src/lib.rs")] {
                write(&ptx.join(file), &filled(name)?)?;
            }
            write(&ptx.join("src").join(kernels), &read(&folder.join(package).join("src").join(kernels))?)?;
            write(&ptx.join("tests/ptx.rs"), &read(&templates.join(package).join("ptx.rs"))?)?;
        }
        let manifest = folder.join("Cargo.toml");
        write(&manifest, &with_ptx(&read(&manifest)?)?)?;
        let mut solutions = BTreeMap::new();
        for part in Part::HOMEWORK {
            for file in starter::files_below(&folder.join(part.package()).join("src"))? {
                let name = file.strip_prefix(folder).context("the file is below the folder")?.to_owned();
                solutions.insert(name, read(&file)?);
            }
        }
        Ok(Self { folder: folder.to_owned(), solutions })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The package of a part's test program.
    pub(super) fn package(part: Part, program: Program) -> String {
        match program {
            Program::Source => part.package().to_owned(),
            Program::Ptx => format!("{}_ptx", part.package()),
        }
    }

    /// Replaces the sources by a submission's. Programs are given, and not compiled: a library alone compiles faster.
    pub(super) fn put(&self, sources: &Sources) -> Result<()> {
        for part in Part::HOMEWORK {
            let package = part.package();
            let files = if sources.has(part) { &sources.files } else { &self.solutions };
            let program = Path::new(package).join("src/main.rs");
            let is_compiled = |path: &Path| path.starts_with(package) && path != program;
            for old in starter::files_below(&self.folder.join(package).join("src"))? {
                let name = old.strip_prefix(&self.folder).context("the file is below the folder")?;
                if !is_compiled(name) || !files.contains_key(name) {
                    std::fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
                }
            }
            for (name, text) in files.iter().filter(|(name, _)| is_compiled(name)) {
                let file = self.folder.join(name);
                // A file may have the name of a folder that another submission had.
                if file.is_dir() {
                    std::fs::remove_dir_all(&file).with_context(|| format!("cannot remove {}", file.display()))?;
                }
                write_if_other(&file, text)?;
            }
            // A copy, so that the PTX has the kernels' lines: of files outside of the package, it has none.
            if let Some(kernels) = kernels(part) {
                let text = files.get(&Path::new(package).join("src").join(kernels)).map_or("", String::as_str);
                let ptx = self.folder.join(Self::package(part, Program::Ptx));
                write_if_other(&ptx.join("src").join(kernels), text)?;
            }
        }
        Ok(())
    }
}

/// The file of a part's kernels.
fn kernels(part: Part) -> Option<&'static str> {
    match part {
        Part::One | Part::Learn => None,
        Part::Two | Part::Three => Some("kernel.rs"),
        Part::Activation => Some("kernels.rs"),
    }
}

/// The starter's Cargo.toml with the packages that compile kernels to PTX, and with the interpreter optimised.
fn with_ptx(manifest: &str) -> Result<String> {
    let parts = Part::HOMEWORK.into_iter().filter(|&part| kernels(part).is_some());
    let members: String = parts.map(|part| format!("\"{}\", ", Workspace::package(part, Program::Ptx))).collect();
    let cuda_builder = workspace_root().join("rust-cuda/cuda_builder");
    let edits = [
        ("members = [".to_owned(), format!("members = [{members}")),
        (
            "[workspace.dependencies]\n".to_owned(),
            format!("[workspace.dependencies]\ncuda_builder = {{ path = {cuda_builder:?} }}\n"),
        ),
        ("[profile.dev.package]\n".to_owned(), "[profile.dev.package]\nptx-interpreter.opt-level = 3\n".to_owned()),
    ];
    let mut text = manifest.to_owned();
    for (from, to) in edits {
        ensure!(text.matches(&from).count() == 1, "the starter's Cargo.toml does not have one {from:?}");
        text = text.replace(&from, &to);
    }
    Ok(text)
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
