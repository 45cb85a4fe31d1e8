//! File access with errors that name the action and the path.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::BuilderError;

/// Converts an error of the operating system to one with the action and the path.
pub(crate) fn cannot(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BuilderError {
    move |source| BuilderError::Io { action, path: path.to_owned(), source }
}

/// The text of a file, with LF line endings.
pub(crate) fn read_text(path: &Path) -> Result<String, BuilderError> {
    let text = fs::read_to_string(path).map_err(cannot("read", path))?;
    Ok(text.replace("\r\n", "\n"))
}

/// The bytes of a file with LF line endings, so a checkout with CRLF has the same fingerprint.
pub(crate) fn read_with_lf(path: &Path) -> Result<Vec<u8>, BuilderError> {
    let bytes = fs::read(path).map_err(cannot("read", path))?;
    let next = bytes.iter().skip(1).map(Some).chain([None]);
    let kept = bytes.iter().zip(next).filter(|&(&byte, next)| !(byte == b'\r' && next == Some(&b'\n')));
    Ok(kept.map(|(&byte, _)| byte).collect())
}

/// Replaces a file atomically: a reader sees either the old or the new text, never a mix.
pub(crate) fn replace_file(path: &Path, text: &str) -> Result<(), BuilderError> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let unique = format!(".{}.{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(unique);
    let temporary = path.with_file_name(name);
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs::create_dir_all(directory).map_err(cannot("create the directory", directory))?;
    }
    fs::write(&temporary, text).map_err(cannot("write", path))?;
    fs::rename(&temporary, path).map_err(|source| {
        // The first error is the one to report; at worst the temporary file remains.
        let _ = fs::remove_file(&temporary);
        cannot("write", path)(source)
    })
}

/// The files below a directory, sorted by their relative path, with `/` as the separator on every
/// system. Excludes temporary files of editors (`.name`, `name~`) and the canonical paths in
/// `skipped`.
pub(crate) fn files_below(root: &Path, skipped: &[PathBuf]) -> Result<Vec<(String, PathBuf)>, BuilderError> {
    let mut found = Vec::new();
    collect(root, "", skipped, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(
    directory: &Path,
    prefix: &str,
    skipped: &[PathBuf],
    found: &mut Vec<(String, PathBuf)>,
) -> Result<(), BuilderError> {
    let cannot_list = || cannot("list the directory", directory);
    for entry in fs::read_dir(directory).map_err(cannot_list())? {
        let entry = entry.map_err(cannot_list())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if name.starts_with('.') || name.ends_with('~') || skipped.contains(&canonical(&path)?) {
            continue;
        }
        let relative = format!("{prefix}{name}");
        if path.is_dir() {
            collect(&path, &format!("{relative}/"), skipped, found)?;
        } else {
            found.push((relative, path));
        }
    }
    Ok(())
}

/// The canonical path of a file or directory: absolute, with links resolved.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf, BuilderError> {
    fs::canonicalize(path).map_err(cannot("find", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_carriage_returns_before_a_line_feed_are_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, b"a\r\nb\rc\r\r\n\r").unwrap();
        assert_eq!(read_with_lf(&path).unwrap(), b"a\nb\rc\r\n\r");
    }

    #[test]
    fn replacing_a_file_leaves_no_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/file.ptx");
        replace_file(&path, "old").unwrap();
        replace_file(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path().join("new")).unwrap().count(), 1);
    }

    #[test]
    fn files_are_sorted_by_their_relative_paths() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b.rs", "a/z.rs", "a/y.rs", ".b.rs.swp", "b.rs~", "host/sim.rs"] {
            replace_file(&directory.path().join(name), "").unwrap();
        }
        let host = canonical(&directory.path().join("host")).unwrap();
        let files = files_below(directory.path(), &[host]).unwrap();
        assert_eq!(files.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a/y.rs", "a/z.rs", "b.rs"]);
    }
}
