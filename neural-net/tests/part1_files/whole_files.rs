//! No write leaves a temporary file behind, neither its own nor a killed process's. Only one
//! process at a time can lock a directory.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::names_in;
use neural_net::files::{DirectoryLock, LockError, Replacement, create_directory, require_writable, write_atomically};

/// Creates the temporary file of a process that was killed while it wrote `name`, and returns its name.
fn abandon(directory: &Path, name: &str) -> String {
    let temporary = format!(".{name}.4000000.7.tmp");
    fs::write(directory.join(&temporary), "half of").unwrap();
    temporary
}

#[test]
fn part1_whole_files_are_replaced_without_a_trace() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.b.c");
    for text in ["first", "second"] {
        write_atomically(&path, text.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        require_writable(&path).unwrap();
        drop(Replacement::begin(&path).unwrap());
        assert_eq!(names_in(directory.path()), ["a.b.c"]);
    }
}

#[test]
fn part1_whole_files_of_killed_processes_are_removed_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model");
    let of_other = abandon(directory.path(), "model.other");
    for unrelated in [".model.tmp", ".model.7.tmp", ".model.4000000.x.tmp", "model.1.2.tmp", ".model..1.tmp"] {
        fs::write(directory.path().join(unrelated), "unrelated").unwrap();
    }
    let kept = names_in(directory.path());
    abandon(directory.path(), "model");
    // A temporary file that is in use, by this process.
    let written = Replacement::begin(&path).unwrap();
    write_atomically(&path, b"content").unwrap();
    let names = names_in(directory.path());
    let being_written = format!(".model.{}.", std::process::id());
    let is_new = |name: &&String| name.as_str() == "model" || name.starts_with(&being_written);
    assert_eq!(names.iter().filter(is_new).count(), 2, "{names:?}");
    assert_eq!(names.iter().filter(|name| !is_new(name)).collect::<Vec<_>>(), kept.iter().collect::<Vec<_>>());
    written.commit().unwrap();
    assert!(fs::read(&path).unwrap().is_empty());

    // Locking the directory removes the temporary files for all names.
    drop(DirectoryLock::acquire(directory.path()).unwrap());
    let mut expected: Vec<String> = kept.into_iter().filter(|name| *name != of_other).chain(["model".into()]).collect();
    expected.sort();
    assert_eq!(names_in(directory.path()), expected);
}

#[test]
fn part1_whole_files_written_concurrently_are_never_mixed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let texts: Vec<Vec<u8>> = (0..8_u8).map(|byte| vec![byte; 40_000]).collect();
    std::thread::scope(|scope| {
        for text in &texts {
            scope.spawn(|| (0..20).for_each(|_| write_atomically(&path, text).unwrap()));
        }
        for _ in 0..100 {
            let found = fs::read(&path).unwrap_or_else(|_| texts[0].clone());
            assert!(texts.contains(&found), "{} bytes", found.len());
        }
    });
    assert_eq!(names_in(directory.path()), ["file"]);
}

#[test]
fn part1_whole_files_lock_a_directory_for_one_holder() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("a/b");
    let lock = DirectoryLock::acquire(&directory).unwrap();
    let error = DirectoryLock::acquire(&directory).unwrap_err();
    assert!(matches!(error, LockError::Held { process: Some(id), .. } if id == std::process::id()), "{error:?}");
    let line = error.to_string();
    let expected = format!("{}: process {} writes there: ", directory.display(), std::process::id());
    assert!(line.starts_with(&expected) && !line.contains('\n'), "{line}");
    drop(lock);
    // The created directories were empty.
    assert!(names_in(root.path()).is_empty());
    let lock = DirectoryLock::acquire(&directory).unwrap();
    fs::write(directory.join("kept"), "").unwrap();
    drop(lock);
    assert_eq!(names_in(&directory), ["kept"]);
}

/// The lock file of a killed process is not locked.
#[test]
fn part1_whole_files_lock_a_directory_whose_holder_was_killed() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(".lock"), "   4000000\n").unwrap();
    let _lock = DirectoryLock::acquire(directory.path()).unwrap();
    let text = fs::read_to_string(directory.path().join(".lock")).unwrap();
    assert_eq!(text.trim(), std::process::id().to_string());
}

/// Dropping a lock removes the lock file, which other threads may have open.
#[test]
fn part1_whole_files_locks_that_come_and_go_exclude_each_other() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("created/locked");
    let inside = AtomicU32::new(0);
    let take = || match DirectoryLock::acquire(&directory) {
        Ok(_lock) => {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders");
            inside.fetch_sub(1, Ordering::SeqCst);
            true
        }
        Err(LockError::Held { .. }) => false,
        Err(error) => panic!("{error:?}"),
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut taken = 0;
                while taken < 100 {
                    taken += u32::from(take());
                }
            });
        }
    });
    // The holder that created the directory cannot remove it while another holder has the lock.
    assert!(!directory.exists() || names_in(&directory).is_empty());
}

#[test]
fn part1_whole_files_reject_a_path_that_is_not_a_directory() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    File::create(&file).unwrap();
    let error = DirectoryLock::acquire(&file).unwrap_err();
    assert!(matches!(error, LockError::Io { action: "create", .. }), "{error:?}");
    assert!(create_directory(&file.join("below")).is_err());
    assert_eq!(create_directory(&root.path().join("x/y")).unwrap(), [root.path().join("x/y"), root.path().join("x")]);
    assert!(create_directory(root.path()).unwrap().is_empty());
}
