//! Files that compilations leave in their target folder.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Snapshot of the files and folders in a folder.
pub(super) struct Products {
    folder: PathBuf,
    files: HashMap<PathBuf, Option<Stamp>>,
}

/// Metadata that changes when a file is rewritten: its inode, its length, and its time in seconds
/// and nanoseconds.
type Stamp = (u64, u64, i64, i64);

fn stamp_of(metadata: &Metadata) -> Stamp {
    (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

impl Products {
    pub(super) fn of(folder: &Path) -> Result<Self> {
        Ok(Self { folder: folder.to_owned(), files: files_in(folder)?.into_iter().collect() })
    }

    /// Removes folders and files that are new or changed since the snapshot, which are the
    /// compilation products of a submission. The next submission's compilation cannot include them.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub(super) fn restore(&self) -> Result<()> {
        for (path, stamp) in files_in(&self.folder)? {
            let removed = match (self.files.get(&path) == Some(&stamp), stamp) {
                (true, _) => Ok(()),
                // Removes the folder with its contents, which come later in the list.
                (false, None) => std::fs::remove_dir_all(&path),
                (false, Some(_)) => std::fs::remove_file(&path),
            };
            match removed {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Lists the files and links below a folder, and its subfolders, which have no stamp. A folder
/// comes before its contents.
fn files_in(folder: &Path) -> Result<Vec<(PathBuf, Option<Stamp>)>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let failed = || format!("cannot read {}", folder.display());
        for entry in std::fs::read_dir(&folder).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let metadata = entry.metadata().with_context(failed)?;
            files.push((entry.path(), (!metadata.is_dir()).then(|| stamp_of(&metadata))));
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grade_removes_what_a_submission_was_compiled_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(file("debug/deps")).unwrap();
        for name in ["debug/runner", "debug/deps/libgpu.rlib", "a.ptx"] {
            std::fs::write(file(name), name).unwrap();
        }
        let products = Products::of(folder.path()).unwrap();
        products.restore().unwrap();
        // One file is rewritten, one is replaced by another, one is new, and one is a link.
        std::fs::write(file("a.ptx"), "other").unwrap();
        std::fs::write(file("new"), "debug/runner").unwrap();
        std::fs::rename(file("new"), file("debug/runner")).unwrap();
        std::fs::create_dir_all(file("incremental/session")).unwrap();
        std::fs::write(file("incremental/session/state"), "").unwrap();
        std::os::unix::fs::symlink(file("debug"), file("link")).unwrap();
        products.restore().unwrap();
        let left: Vec<PathBuf> = files_in(folder.path()).unwrap().into_iter().map(|(file, _)| file).collect();
        assert_eq!(left, [file("debug"), file("debug/deps"), file("debug/deps/libgpu.rlib")]);
    }
}
