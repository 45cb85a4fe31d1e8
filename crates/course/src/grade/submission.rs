//! The sources of a submission, from a ZIP file or a folder: nothing but `PACKAGE/src/….rs`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use crate::starter::Part;

/// Limits of a submission: files, and bytes of each and of all.
const MAX_FILES: usize = 200;
const MAX_BYTES: u64 = 1 << 20;
const MAX_ALL: u64 = 8 << 20;
/// Maximum number of entries that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// What is taken of a submission.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    /// The sources by their path in the workspace, such as `max_functions/src/trivial.rs`.
    pub(super) files: BTreeMap<PathBuf, String>,
    /// Build scripts and settings of cargo, which are not taken.
    pub(super) ignored: Vec<PathBuf>,
}

/// The files of a part: their paths, and their texts.
pub(super) type PartFiles = Vec<(PathBuf, String)>;

impl Sources {
    /// Whether there is a source of a part.
    pub(super) fn has(&self, part: Part) -> bool {
        self.files.keys().any(|path| path.starts_with(part.package()))
    }

    /// The sources of a part; none if the submission does not have it.
    pub(super) fn of(&self, part: Part) -> PartFiles {
        let files = self.files.iter().filter(|(path, _)| path.starts_with(part.package()));
        files.map(|(path, text)| (path.clone(), text.clone())).collect()
    }

    fn add(&mut self, path: PathBuf, reader: impl Read) -> Result<(), String> {
        if self.files.len() == MAX_FILES {
            return Err(format!("it has more than {MAX_FILES} source files"));
        }
        let mut text = String::new();
        let read = reader.take(MAX_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| format!("{}: {error}", path.display()))?;
        let all: u64 = self.files.values().map(|text| text.len() as u64).sum();
        if text.len() as u64 > MAX_BYTES || all + text.len() as u64 > MAX_ALL {
            return Err(format!("{}: the sources are larger than {} MiB", path.display(), MAX_ALL >> 20));
        }
        if self.files.insert(path.clone(), text).is_some() {
            return Err(format!("{} is there twice", path.display()));
        }
        Ok(())
    }
}

/// The path in the workspace of a file of the submission, which may be below one more folder. None for what is not
/// graded.
fn of_workspace(path: &Path) -> Option<PathBuf> {
    let names: Vec<&str> = path
        .components()
        .map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let start = names.iter().take(2).position(|name| Part::HOMEWORK.iter().any(|part| part.package() == *name))?;
    let names = &names[start..];
    let is_source = names.len() >= 3 && names[1] == "src" && names.last()?.ends_with(".rs") && names.len() <= 8;
    is_source.then(|| names.iter().collect())
}

/// Whether the file would run, or change what is run, while cargo compiles.
fn is_script(path: &Path) -> bool {
    path.ends_with("build.rs") && !path.iter().any(|name| name == "src")
        || path.ends_with(".cargo/config.toml")
        || path.ends_with(".cargo/config")
}

/// Reads a submission.
///
/// # Errors
/// The reason, in one line.
pub(super) fn read(path: &Path) -> Result<Sources, String> {
    let sources = if path.is_dir() { of_folder(path) } else { of_archive(path) }?;
    match sources.files.is_empty() {
        true => Err("it has no sources such as max_functions/src/trivial.rs".to_owned()),
        false => Ok(sources),
    }
}

fn of_folder(root: &Path) -> Result<Sources, String> {
    let (mut sources, mut folders, mut entries) = (Sources::default(), vec![root.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(format!("it has more than {MAX_ENTRIES} files"));
            }
            let (kind, path) = (entry.file_type().map_err(failed)?, entry.path());
            let relative = path.strip_prefix(root).map_err(|error| error.to_string())?;
            // A link may lead anywhere.
            if kind.is_dir() && entry.file_name() != "target" && relative.components().count() <= 8 {
                folders.push(path);
            } else if let Some(name) = of_workspace(relative).filter(|_| kind.is_file()) {
                sources.add(name, File::open(&path).map_err(failed)?)?;
            } else if is_script(relative) {
                sources.ignored.push(relative.to_owned());
            }
        }
    }
    Ok(sources)
}

fn of_archive(path: &Path) -> Result<Sources, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| failed(&error))?;
    if archive.len() > MAX_ENTRIES {
        return Err(format!("it has more than {MAX_ENTRIES} files"));
    }
    let mut sources = Sources::default();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|error| failed(&error))?;
        // Paths that lead out of the archive have no name here.
        let Some(name) = entry.enclosed_name() else { continue };
        if is_script(&name) {
            sources.ignored.push(name);
            continue;
        }
        let Some(name) = of_workspace(&name) else { continue };
        if entry.is_file() && !entry.is_symlink() {
            sources.add(name, entry)?;
        }
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grade_takes_only_sources_of_the_homework() {
        for (path, expected) in [
            ("max_functions/src/trivial.rs", Some("max_functions/src/trivial.rs")),
            ("homework/utils/src/deep/lists.rs", Some("utils/src/deep/lists.rs")),
            ("max_functions/build.rs", None),
            ("max_functions/Cargo.toml", None),
            ("max_functions/tests/public.rs", None),
            ("max_functions/src/data.bin", None),
            ("../max_functions/src/trivial.rs", None),
            ("/max_functions/src/trivial.rs", None),
            ("a/b/utils/src/lists.rs", None),
            ("other/src/lib.rs", None),
        ] {
            assert_eq!(of_workspace(Path::new(path)), expected.map(PathBuf::from), "{path}");
        }
    }

    #[test]
    fn grade_names_the_scripts_that_it_does_not_take() {
        for (path, expected) in [
            ("max_functions/build.rs", true),
            ("homework/.cargo/config.toml", true),
            ("max_functions/src/build.rs", false),
            ("max_functions/Cargo.toml", false),
        ] {
            assert_eq!(is_script(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn grade_limits_what_it_reads() {
        let mut sources = Sources::default();
        assert!(sources.add("a.rs".into(), &b"fn f() {}"[..]).is_ok());
        assert!(sources.add("a.rs".into(), &b""[..]).unwrap_err().contains("twice"));
        assert!(sources.add("b.rs".into(), std::io::repeat(b' ')).unwrap_err().contains("larger than"));
        assert!(sources.add("c.rs".into(), &b"\xff\xfe"[..]).unwrap_err().contains("UTF-8"));
    }
}
