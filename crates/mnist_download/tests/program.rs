//! The program's exit codes and messages. The mirrors here are local.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::thread;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use tempfile::TempDir;

fn program(folder: &Path, arguments: &[&str]) -> Output {
    let mut command: Command = cargo_bin_cmd!("mnist_download");
    command.current_dir(folder).args(arguments).env("NO_PROXY", "*").output().unwrap()
}

/// Returns the error line of a run that must exit with code 2 and write no file.
#[track_caller]
fn rejection(folder: &Path, arguments: &[&str]) -> String {
    let output = program(folder, arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{stderr}");
    let error = stderr.lines().last().unwrap();
    assert!(error.starts_with("error: "), "{stderr}");
    stderr
}

#[test]
fn part1_the_file_that_no_mirror_has_is_named() {
    let folder = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mirror = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map(Result::unwrap) {
            let head = BufReader::new(&stream).lines();
            let _ = head.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).count();
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let message = rejection(folder.path(), &["--mirror", &mirror, "new"]);
    for part in ["train-images-idx3-ubyte.gz", &mirror, "404", "put the file into new by hand"] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path().join("new")).unwrap().count(), 0);
}

/// Both in the line about the failed mirror and in the error.
#[test]
fn part1_control_characters_of_a_mirror_are_escaped() {
    let folder = TempDir::new().unwrap();
    let message = rejection(folder.path(), &["--mirror", "http://127.0.0.1:9/\u{1b}[31m\u{202e}x", "new"]);
    assert!(!message.contains(['\u{1b}', '\u{202e}']), "{message:?}");
    assert_eq!(message.matches("http://127.0.0.1:9/\\u001b[31m\\u202ex").count(), 2, "{message}");
}
