//! Files are written where a path leads: through links, to pipes and devices, and with the file's
//! previous access rights.

#![cfg(unix)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use tempfile::{TempDir, tempdir};
use whole_files::{is_same_file, require_distinct, require_writable, write_atomically, write_privately};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn file_with_mode(folder: &TempDir, mode: u32) -> PathBuf {
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn links_stay_and_what_they_lead_to_is_replaced_or_created() {
    let folder = tempdir().unwrap();
    let [inner, link, link_to_link] = ["inner", "link", "link-to-link"].map(|name| folder.path().join(name));
    fs::create_dir(&inner).unwrap();
    symlink("inner/target", &link).unwrap();
    symlink(&link, &link_to_link).unwrap();
    // The first link is dangling at first.
    for text in ["created", "replaced"] {
        require_writable(&link_to_link).unwrap();
        write_atomically(&link_to_link, text.as_bytes()).unwrap();
        assert!(link.is_symlink() && link_to_link.is_symlink());
        assert!(!inner.join("target").is_symlink());
        assert_eq!(fs::read_to_string(inner.join("target")).unwrap(), text);
        assert_eq!(names_in(&inner), ["target"]);
        assert_eq!(names_in(folder.path()), ["inner", "link", "link-to-link"]);
    }
}

#[test]
fn a_loop_of_links_is_an_error_that_says_so() {
    let folder = tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
    symlink(&other, &one).unwrap();
    symlink(&one, &other).unwrap();
    for error in [require_writable(&one).unwrap_err(), write_atomically(&one, b"new").unwrap_err()] {
        assert!(error.to_string().contains("its symbolic links form a loop"), "{error}");
    }
    assert_eq!(names_in(folder.path()), ["one", "other"]);
}

#[test]
fn a_pipe_gets_the_content_once_and_stays() {
    let folder = tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Without a reader, opening it would block.
    require_writable(&pipe).unwrap();
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    write_atomically(&pipe, b"content").unwrap();
    assert_eq!(reader.join().unwrap(), "content");
    assert!(!fs::symlink_metadata(&pipe).unwrap().is_file());
    assert_eq!(names_in(folder.path()), ["pipe"]);
}

#[test]
fn devices_stay_and_their_errors_are_reported() {
    require_writable(Path::new("/dev/null")).unwrap();
    write_atomically(Path::new("/dev/null"), b"content").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    if Path::new("/dev/full").exists() {
        let error = write_atomically(Path::new("/dev/full"), b"content").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}

/// This program again, running one of the ignored tests below with the path to write to.
fn again(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).env("WRITTEN", path);
    command
}

#[test]
fn the_standard_output_is_written_in_order_also_if_it_is_a_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("output");
    let outputs = [File::create(&path).unwrap().into(), Stdio::piped()];
    for output in outputs {
        let ended = again("writes_to_the_standard_output", Path::new("/dev/stdout"))
            .stdout(output)
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert!(ended.status.success());
        let text = if ended.stdout.is_empty() { fs::read(&path).unwrap() } else { ended.stdout };
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("before\ncontent\nafter\n"), "{text}");
    }
    assert_eq!(names_in(folder.path()), ["output"]);
}

#[test]
#[ignore = "the_standard_output_is_written_in_order_also_if_it_is_a_file starts it"]
fn writes_to_the_standard_output() {
    println!("before");
    let path = PathBuf::from(std::env::var_os("WRITTEN").unwrap());
    require_writable(&path).unwrap();
    write_atomically(&path, b"content\n").unwrap();
    println!("after");
}

#[test]
fn a_replaced_file_keeps_its_mode_unless_it_is_written_privately() {
    let folder = tempdir().unwrap();
    for expected in [0o600, 0o640, 0o664, 0o444, 0o755] {
        let path = file_with_mode(&folder, expected);
        write_atomically(&path, b"new").unwrap();
        assert_eq!((mode(&path), fs::read_to_string(&path).unwrap().as_str()), (expected, "new"));
        write_privately(&path, b"newer").unwrap();
        assert_eq!((mode(&path), fs::read_to_string(&path).unwrap().as_str()), (0o600, "newer"));
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_new_file_has_the_usual_mode_and_a_private_one_is_its_owners() {
    let folder = tempdir().unwrap();
    let [usual, written, private] = ["usual", "written", "private"].map(|name| folder.path().join(name));
    File::create(&usual).unwrap();
    write_atomically(&written, b"content").unwrap();
    write_privately(&private, b"content").unwrap();
    assert_eq!((mode(&written), mode(&private)), (mode(&usual), 0o600));
}

#[test]
fn a_replaced_file_keeps_its_owner_and_group_or_gives_nobody_more_access() {
    let folder = tempdir().unwrap();
    let path = file_with_mode(&folder, 0o664);
    // Only root can change the owner.
    if chown(&path, Some(1), Some(2)).is_err() {
        return;
    }
    write_atomically(&path, b"new").unwrap();
    let kept = fs::metadata(&path).unwrap();
    assert_eq!((kept.uid(), kept.gid(), mode(&path)), (1, 2, 0o664));

    // As a user who is neither owner nor group member.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("program");
    // Copied by another process: a program that this process has open for writing cannot be
    // started, and its other tests' children would inherit the open file.
    assert!(Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap().success());
    for (before, after) in [(0o664, 0o644), (0o640, 0o600), (0o606, 0o606)] {
        let path = file_with_mode(&folder, before);
        chown(&path, Some(1), Some(2)).unwrap();
        let mut command = Command::new(&program);
        command.args(["--exact", "writes_to_a_file", "--ignored"]).env("WRITTEN", &path).current_dir(folder.path());
        assert!(command.uid(65534).gid(65534).output().unwrap().status.success());
        let written = fs::metadata(&path).unwrap();
        assert_eq!((written.uid(), written.gid(), mode(&path)), (65534, 65534, after), "{before:o}");
    }
}

#[test]
#[ignore = "a_replaced_file_keeps_its_owner_and_group_or_gives_nobody_more_access starts it"]
fn writes_to_a_file() {
    write_atomically(Path::new(&std::env::var_os("WRITTEN").unwrap()), b"new").unwrap();
}

#[test]
fn an_output_that_is_read_is_found_by_each_of_its_names() {
    let folder = tempdir().unwrap();
    let [file, hard, soft, other] = ["file", "hard", "soft", "other"].map(|name| folder.path().join(name));
    fs::write(&file, "text").unwrap();
    fs::write(&other, "text").unwrap();
    fs::hard_link(&file, &hard).unwrap();
    symlink("file", &soft).unwrap();
    for same in [&file, &hard, &soft, &folder.path().join("./file")] {
        assert!(is_same_file(same, &file) && !is_same_file(same, &other), "{}", same.display());
        let error = require_distinct([("--out", same.as_path())], &[&other, &file]).unwrap_err().to_string();
        let (same, file) = (same.display(), file.display());
        assert_eq!(error, format!("--out {same} would overwrite {file}, which is read: choose another place"));
    }
    let missing = folder.path().join("missing");
    require_distinct([("--out", other.as_path()), ("--json", &missing)], &[&file, &missing]).unwrap();
    // A terminal can be both input and output.
    require_distinct([("--out", Path::new("/dev/null"))], &["/dev/null"]).unwrap();
}
