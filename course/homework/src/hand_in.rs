//! homework.zip: what `cargo course grade` takes, and the student's texts.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use whole_files::{require_distinct, write_atomically};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::part::Part;
use crate::printed::{counted, note, say};
use crate::tested::{self, Tested};
use crate::{CHECK_FAILED, answers, summary};

/// The archive's name.
const ARCHIVE: &str = "homework.zip";
/// Texts that are handed in with the sources, if they are there.
const TEXTS: [&str; 3] = ["README.md", answers::FILE, "report.pdf"];
/// Maximum size of a source file in bytes, as `cargo course grade` reads it.
const MAX_BYTES: u64 = 1 << 20;

/// Writes the archive, unless a part does not compile.
pub(crate) fn pack(root: &Path, parts: &[Part], anyway: bool) -> Result<ExitCode> {
    let all = tested::all(root, parts)?;
    let broken = |tested: &Tested| Some((tested.part.package, tested.compile_error.clone()?));
    if let Some((package, error)) = all.iter().find_map(broken).filter(|_| !anyway) {
        note!("{package} does not compile, and nothing is written; --anyway hands it in as it is: {error}");
        return Ok(ExitCode::from(CHECK_FAILED));
    }
    let names = contents(root, parts)?;
    let bytes = write(root, &names)?;
    say!("{ARCHIVE}, {} kB, {}:", bytes.div_ceil(1000), counted(names.len(), "file"));
    for name in &names {
        say!("  {name}");
    }
    let blanks = fs::read_to_string(root.join(answers::FILE)).map_or(0, |text| text.matches(answers::BLANK).count());
    if blanks > 0 {
        say!("{} still has {} to fill in.", answers::FILE, counted(blanks, "blank"));
    }
    let line = summary(root, &all);
    // "17 of 17 tests pass", without what is next.
    say!("{}", line.split(';').next().unwrap_or(&line));
    Ok(ExitCode::SUCCESS)
}

/// The names in the archive, with `/`.
fn contents(root: &Path, parts: &[Part]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for part in parts {
        for path in part.sources(root)? {
            let size = fs::metadata(root.join(&path)).with_context(|| format!("cannot read {}", path.display()))?.len();
            ensure!(size <= MAX_BYTES, "{} is larger than 1 MiB, and would not be graded", path.display());
            let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
            names.push(parts.with_context(|| format!("the name of {} is not UTF-8", path.display()))?.join("/"));
        }
    }
    names.extend(TEXTS.into_iter().filter(|name| root.join(name).is_file()).map(str::to_owned));
    Ok(names)
}

/// Writes the archive, and returns its size in bytes.
fn write(root: &Path, names: &[String]) -> Result<usize> {
    let (file, bytes) = (root.join(ARCHIVE), archive(root, names)?);
    let inputs: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
    require_distinct([("the archive", file.as_path())], &inputs)
        .with_context(|| format!("{ARCHIVE} is a link: remove it, and hand in again"))?;
    write_atomically(&file, &bytes).with_context(|| format!("cannot write {ARCHIVE}"))?;
    Ok(bytes.len())
}

/// The archive's bytes, the same for the same files.
fn archive(root: &Path, names: &[String]) -> Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).unix_permissions(0o644);
    for name in names {
        let path: PathBuf = root.join(name);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {name}"))?;
        archive.start_file(name.as_str(), options).with_context(|| format!("cannot pack {name}"))?;
        archive.write_all(&bytes).with_context(|| format!("cannot pack {name}"))?;
    }
    Ok(archive.finish().context("cannot pack the sources")?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where hard links are known to be the same file.
    #[cfg(unix)]
    #[test]
    fn an_archive_that_is_a_link_to_a_source_is_not_written() {
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("answers.md");
        fs::write(&source, "my answers").unwrap();
        fs::hard_link(&source, root.path().join(ARCHIVE)).unwrap();
        let names = ["answers.md".to_owned()];
        let error = format!("{:#}", write(root.path(), &names).unwrap_err());
        assert!(error.starts_with("homework.zip is a link: remove it, and hand in again: "), "{error}");
        assert_eq!(fs::read_to_string(&source).unwrap(), "my answers");
        fs::remove_file(root.path().join(ARCHIVE)).unwrap();
        assert!(write(root.path(), &names).unwrap() > 0);
    }

    #[test]
    fn sources_and_texts_are_handed_in_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        for name in [
            "utils/src/lib.rs",
            "utils/src/deep/lists.rs",
            "utils/src/notes.txt",
            "utils/tests/public.rs",
            "utils/build.rs",
            "train/src/main.rs",
            ".cargo/config.toml",
            "Cargo.toml",
            "README.md",
            "answers.md",
        ] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let names = contents(root.path(), &Part::of_workspace(root.path())).unwrap();
        assert_eq!(names, ["utils/src/deep/lists.rs", "utils/src/lib.rs", "README.md", "answers.md"]);
        let bytes = archive(root.path(), &names).unwrap();
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        assert_eq!(archive.len(), names.len());
        for name in &names {
            assert_eq!(std::io::read_to_string(archive.by_name(name).unwrap()).unwrap(), *name);
        }
    }
}
