//! hw1.zip, hw2.zip and hw3.zip: the crates of a hand-in, the crates that they depend on, and the report.

mod reduced;

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// A hand-in's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandIn {
    /// The crates that are handed in, with their tests, in the order of the assignment's parts.
    pub crates: &'static [&'static str],
    /// Programs that use them, handed in without tests.
    pub programs: &'static [&'static str],
    /// The report's file name.
    pub report: &'static str,
    readme: &'static str,
}

impl HandIn {
    /// Homework 1.
    pub const HOMEWORK1: Self = Self {
        crates: &["utils", "max_functions", "matmul_functions"],
        programs: &[],
        report: "hw1.pdf",
        readme: include_str!("../template/hw1-readme.md"),
    };
    /// Assignment 2.
    pub const ASSIGNMENT2: Self = Self {
        crates: &["augmentation", "filters"],
        programs: &["neural-net"],
        report: "hw2.pdf",
        readme: include_str!("../template/hw2-readme.md"),
    };
    /// Assignment 3.
    pub const ASSIGNMENT3: Self = Self {
        crates: &["distributed_functions"],
        programs: &["neural-net"],
        report: "hw3.pdf",
        readme: include_str!("../template/hw3-readme.md"),
    };
    /// All hand-ins.
    pub const ALL: [Self; 3] = [Self::HOMEWORK1, Self::ASSIGNMENT2, Self::ASSIGNMENT3];

    /// The crates and programs.
    pub fn packages(&self) -> impl Iterator<Item = &'static str> {
        self.crates.iter().chain(self.programs).copied()
    }
}

/// The source folders of a crate.
const FOLDERS: [&str; 4] = ["benches", "examples", "src", "tests"];
/// The extensions of source files and test data. Files of editors and other programs have other
/// extensions.
const EXTENSIONS: [&str; 6] = ["jpg", "py", "rs", "stderr", "toml", "txt"];
/// The folders and extensions of the files needed to build a crate.
const BUILD_FOLDERS: [&str; 3] = ["build", "ptx", "src"];
const BUILD_EXTENSIONS: [&str; 2] = ["rs", "ptx"];

/// The errors of [`archive`] and [`files`].
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file or folder could not be read.
    #[error("cannot read {}: {error}: run this from the workspace's sources, where {} was built", path.display(), env!("CARGO_PKG_NAME"))]
    Read {
        /// Its path.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// A file of the workspace lacks what the archive needs.
    #[error("cannot pack {}: {reason}", path.display())]
    Unusable {
        /// Its path.
        path: PathBuf,
        /// What it lacks.
        reason: String,
    },
    /// The archive could not be created.
    #[error("cannot create the archive: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// A file could not be added to the archive.
    #[error("cannot create the archive: {0}")]
    Write(#[from] std::io::Error),
}

/// The root of the workspace that this program was built in.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Creates the archive's bytes: the hand-in's crates, the crates that they depend on, and `pdf` as
/// the report. The archive builds without any other file of the workspace. Equal files give equal
/// bytes.
///
/// # Errors
/// If a file cannot be read, or the workspace's Cargo.toml or Cargo.lock lacks a crate.
pub fn archive(hand_in: HandIn, workspace: &Path, pdf: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    let mut names = files(hand_in, workspace)?;
    let reduced = reduced::reduced(hand_in, workspace)?;
    let mut contents: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (folder, manifest) in reduced.support {
        for inner in BUILD_FOLDERS {
            let path = workspace.join(&folder).join(inner);
            if path.is_dir() {
                add_folder(&path, &format!("{folder}/{inner}"), &BUILD_EXTENSIONS, &mut names)?;
            }
        }
        let script = format!("{folder}/build.rs");
        names.extend(workspace.join(&script).is_file().then_some(script));
        contents.insert(format!("{folder}/Cargo.toml"), manifest.into_bytes());
    }
    names.push("rust-toolchain.toml".to_owned());
    for name in names {
        let bytes = read(workspace, &name)?;
        contents.insert(name, bytes);
    }
    contents.insert("Cargo.toml".to_owned(), reduced.manifest.into_bytes());
    contents.insert("Cargo.lock".to_owned(), reduced.lock.into_bytes());
    contents.insert("README.md".to_owned(), hand_in.readme.as_bytes().to_vec());
    contents.insert(hand_in.report.to_owned(), pdf.to_vec());

    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in contents {
        zip.start_file(name, options)?;
        zip.write_all(&bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}

fn read(workspace: &Path, name: &str) -> Result<Vec<u8>, ArchiveError> {
    let path = workspace.join(name);
    std::fs::read(&path).map_err(|error| ArchiveError::Read { path, error })
}

/// The paths of the hand-in's sources relative to the workspace, with slashes, sorted.
///
/// # Errors
/// If a crate's manifest or folder cannot be read.
pub fn files(hand_in: HandIn, workspace: &Path) -> Result<Vec<String>, ArchiveError> {
    let mut files = Vec::new();
    for name in hand_in.crates {
        let manifest = workspace.join(name).join("Cargo.toml");
        std::fs::metadata(&manifest).map_err(|error| ArchiveError::Read { path: manifest, error })?;
        files.push(format!("{name}/Cargo.toml"));
        for folder in FOLDERS {
            let path = workspace.join(name).join(folder);
            if path.is_dir() {
                add_folder(&path, &format!("{name}/{folder}"), &EXTENSIONS, &mut files)?;
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Adds the files below a folder that have one of the extensions.
fn add_folder(path: &Path, name: &str, extensions: &[&str], files: &mut Vec<String>) -> Result<(), ArchiveError> {
    let read = |error| ArchiveError::Read { path: path.to_path_buf(), error };
    for entry in std::fs::read_dir(path).map_err(read)? {
        let entry = entry.map_err(read)?;
        let (path, file) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let name = format!("{name}/{file}");
        let is_source = path.extension().is_some_and(|extension| extensions.iter().any(|known| extension == *known));
        // The entry's own type: do not follow links, since they may point outside the workspace.
        let kind = entry.file_type().map_err(read)?;
        if kind.is_dir() {
            add_folder(&path, &name, extensions, files)?;
        } else if kind.is_file() && is_source && !file.starts_with('.') {
            files.push(name);
        }
    }
    Ok(())
}
