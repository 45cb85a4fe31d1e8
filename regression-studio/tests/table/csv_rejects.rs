//! Invalid CSV files: one-line errors with the file, the line number and a remedy.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use regression_studio::table::csv::{self, COLUMN_LIMIT, CsvProblem};
use tempfile::TempDir;

/// Writes a file to its own temporary folder.
fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.csv");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// The error message without the leading file name.
fn message(path: &Path) -> String {
    let message = csv::read(path).unwrap_err().to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    message.strip_prefix(&*path.display().to_string()).unwrap().to_owned()
}

fn rejection(bytes: &[u8]) -> String {
    let (_folder, path) = file(bytes);
    message(&path)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Options without a memory limit.
fn options<'a>(progress: &'a (dyn Fn(f32) + Sync), cancel: &'a AtomicBool) -> csv::Options<'a> {
    static DECLARED: LazyLock<csv::Declared> = LazyLock::new(csv::Declared::default);
    csv::Options { declared: &DECLARED, memory: u64::MAX, progress, cancel }
}

#[test]
fn missing_and_empty_files() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(message(&folder.path().join("no.csv")), ": no such file: check the name and the folder");
    assert_eq!(message(folder.path()), ": this is a folder: give a CSV file or a workbook in it");
    #[cfg(not(windows))]
    assert_eq!(
        message(&folder.path().join("C:\\data\\t.csv")),
        ": no such file: this is a path of Windows; give the file's path on this computer, with / between folders"
    );
    let empty = ": the file is empty: a table needs a line of column names and rows below it";
    for bytes in ["", "\n\r\n  \n", "\u{feff}", "\u{feff}\n"] {
        assert_eq!(rejection(bytes.as_bytes()), empty, "{bytes:?}");
    }
    assert_eq!(rejection(&gzip(b"")), empty);
    for bytes in ["a,b", "a,b\n", "a,b\r\n\n \n"] {
        assert_eq!(rejection(bytes.as_bytes()), ": there are column names but no rows below them", "{bytes:?}");
    }
}

#[test]
fn files_that_are_not_text() {
    let advice = |bytes: &[u8]| rejection(bytes).strip_prefix(": this is not a text file: ").unwrap().to_owned();
    assert_eq!(
        advice(&gzip(b"PK\x03\x04\x14\0\x06\0")),
        "it is a workbook or a ZIP archive in another file; unpack it, or save the table as CSV"
    );
    assert_eq!(
        advice(b"a\0,\0b\0\n\0"),
        "every other byte is zero, as in UTF-16; declare encoding = \"utf-16le\" or \"utf-16be\" in [data], or save it as UTF-8"
    );
    assert_eq!(
        advice(b"\x7fELF,\x02\n1,2\n"),
        "its first line contains control characters; save the table as CSV in UTF-8"
    );
    assert_eq!(
        rejection(b"a,b\n1,2\n3,4\n5,\x006\n"),
        ": this is not a text file: it contains null bytes; save the table as CSV in UTF-8"
    );
    let late = [b"a,b\n".as_slice(), &b"1,2\n".repeat(1_000_000), b"3,\0\n"].concat();
    assert_eq!(rejection(&late), ", line 1000002: this is not a text file: there is a null byte in this line");
}

#[test]
fn files_of_another_text_format() {
    assert_eq!(
        rejection(b"[{\"x\":1,\"b\":2,\"y\":3},\n{\"x\":2}]\n"),
        ": this is JSON, not a table: convert it to CSV"
    );
    assert_eq!(
        rejection(b"{\"x\":1,\"b\":2}\n{\"x\":2,\"b\":3}\n"),
        ": this is JSON, not a table: convert it to CSV, with one column for each name"
    );
    assert!(rejection(b"<!doctype html>\n<table>\n").starts_with(": this is HTML, not a table: "));
    assert!(rejection(&gzip(b"<?xml version=\"1.0\"?>\n")).starts_with(": this is XML, not a table: "));
}

#[test]
fn a_file_that_is_compressed_twice_is_read() {
    let (_folder, path) = file(&gzip(&gzip(b"a,b\n1,2\n")));
    let table = csv::read(&path).unwrap();
    assert_eq!((table.rows(), table.columns()[0].number(0)), (1, Some(1.0)));
    assert_eq!(table.notes()[0].text, "the file is compressed 2 times, one around the other");
}

#[test]
fn rows_of_wrong_length_and_headers_of_wrong_width() {
    assert_eq!(
        rejection(b"a,b,c\n1,2,3\n\n4,5\n6\n"),
        ", line 4: 2 cells, but the header names 3 columns: correct the line"
    );
    assert_eq!(
        rejection(b"a,b\n\"x\ny\",2\n1,2,3\n"),
        ", line 4: 3 cells, but the header names 2 columns: correct the line, or put texts that contain the separator in double quotes"
    );
    assert_eq!(rejection(b"a,b\n1\n"), ", line 2: 1 cell, but the header names 2 columns: correct the line");
    // The first of several errors is reported, in a file with many chunks.
    let many = [b"a,b\n".as_slice(), &b"1,2\n".repeat(500_000), b"3\n", &b"1,2\n".repeat(500_000), b"3\n"].concat();
    assert!(rejection(&many).starts_with(", line 500002: 1 cell"));
    assert_eq!(
        rejection(b"\nprice\n1\n2\n"),
        ", line 2: there is only one column, \"price\": a table needs at least two, separated by commas, semicolons or tabs"
    );
    let wide = vec!["x"; COLUMN_LIMIT + 1].join(",");
    assert_eq!(
        rejection(wide.as_bytes()),
        ", line 1: 16385 columns: the limit is 16384; remove columns that you don't need"
    );
}

#[test]
fn quotes_that_are_never_closed() {
    let unclosed = "a double quote opens here and is never closed: close it, or remove it";
    assert_eq!(rejection(b"a,b\n1,2\n3,\"x\n4,5\n"), format!(", line 3: {unclosed}"));
    assert_eq!(rejection(b"a,b\n1,2\n\"x\ny\",\"z\n4,5\n"), format!(", line 4: {unclosed}"));
    assert_eq!(rejection(b"a,\"b\n1,2\n"), format!(", line 1: {unclosed}"));
    let long = [b"a,b\n1,2\n3,\"x".as_slice(), &b"4,5\n".repeat(8_000_000)].concat();
    assert_eq!(rejection(&long), format!(", line 3: {unclosed}"));
}

#[test]
fn rows_over_the_length_limit() {
    let long = "this row is longer than 16 MiB: is this a table with a line for each row?";
    let letters = vec![b'x'; 40 << 20];
    assert_eq!(rejection(&letters), format!(", line 1: {long}"));
    assert_eq!(rejection(&gzip(&[b"a,b\n1,2\n".as_slice(), &letters, b",2\n"].concat())), format!(", line 3: {long}"));
    // A row below the limit is read.
    let (_folder, path) = file(&[b"a,b\n".as_slice(), &letters[..15 << 20], b",2\n"].concat());
    assert_eq!(csv::read(&path).unwrap().columns()[0].text(0).len(), 15 << 20);
}

#[test]
fn gzip_files_that_are_damaged() {
    let rows: String = (0..100_000).map(|row| format!("{row},{}\n", row * 7919 % 10_007)).collect();
    let whole = gzip(format!("a,b\n{rows}").as_bytes());
    let advice = "the gzip file is damaged or truncated: download or compress it again";
    for length in [2, 5, 20, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let message = rejection(&whole[..length]);
        assert!(message.contains(advice), "{length}: {message}");
    }
    let mut damaged = whole.clone();
    let checksum = whole.len() - 6;
    damaged[checksum] ^= 1;
    assert!(rejection(&damaged).contains(advice));
    // Concatenated gzip files are one file.
    let (_folder, path) = file(&[whole, gzip(b"1,2\n")].concat());
    assert_eq!(csv::read(&path).unwrap().rows(), 100_001);
}

#[test]
fn files_that_change_while_they_are_read() {
    let (_folder, path) = file(&[b"a,b\n".as_slice(), &b"1,2\n".repeat(1_000_000)].concat());
    let is_changed = AtomicBool::new(false);
    let append = |_: f32| {
        if !is_changed.swap(true, Ordering::Relaxed) {
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"3,").unwrap();
        }
    };
    let error = csv::read_with(&path, options(&append, &AtomicBool::new(false))).unwrap_err();
    assert!(matches!(error.problem, CsvProblem::Changed), "{error}");
    assert!(error.to_string().ends_with(": the file changed while it was read: open it again when it is complete"));
}

#[test]
fn progress_grows_to_1_and_cancelling_ends_the_read() {
    let (_folder, path) = file(&gzip(&[b"a,b\n".as_slice(), &b"1,2\n".repeat(1_000_000)].concat()));
    let shares = Mutex::new(Vec::new());
    let push = |share| shares.lock().unwrap().push(share);
    csv::read_with(&path, options(&push, &AtomicBool::new(false))).unwrap();
    let shares = shares.into_inner().unwrap();
    assert!(shares.is_sorted() && shares.len() > 5 && shares[0] > 0.0 && shares.last() == Some(&1.0), "{shares:?}");

    let cancel = AtomicBool::new(false);
    let calls = Mutex::new(0);
    let stop = |_: f32| {
        *calls.lock().unwrap() += 1;
        cancel.store(true, Ordering::Relaxed);
    };
    let error = csv::read_with(&path, options(&stop, &cancel)).unwrap_err();
    assert!(matches!(error.problem, CsvProblem::Cancelled), "{error}");
    assert_eq!(*calls.lock().unwrap(), 1);
}

#[test]
fn rows_over_the_memory_limit() {
    const ROWS: usize = 1_000_000;
    let numbers = [b"a,b\n".as_slice(), &b"1,2\n".repeat(ROWS)].concat();
    let texts: String = (0..ROWS).map(|row| format!("text {row},{}\n", row % 7)).collect();
    for bytes in [gzip(&numbers), gzip(format!("a,b\n{texts}").as_bytes()), numbers] {
        let (_folder, path) = file(&bytes);
        let cancel = AtomicBool::new(false);
        let within = |memory| csv::read_with(&path, csv::Options { memory, ..options(&|_| (), &cancel) });
        let error = within(8 << 20).unwrap_err();
        let CsvProblem::TooLarge { rows, .. } = error.problem else { panic!("{error}") };
        // A row takes 16 to 80 bytes, plus the chunks that other threads are parsing.
        assert!((50_000..ROWS).contains(&rows), "{rows}");
        let expected = format!("{}: the first {rows} rows need more than the 8 MiB of memory", path.display());
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert_eq!(within(256 << 20).unwrap().rows(), ROWS);
    }
}
