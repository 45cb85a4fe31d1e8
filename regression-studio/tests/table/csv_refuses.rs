//! Files that are no table: one line that names the file, the line of it, and the way out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use regression_studio::table::csv::{self, COLUMN_LIMIT, CsvProblem};
use tempfile::TempDir;

/// A file in a folder of its own.
fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.csv");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// The message without the file's name, with which it begins.
fn message(path: &Path) -> String {
    let message = csv::read(path).unwrap_err().to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    message.strip_prefix(&*path.display().to_string()).unwrap().to_owned()
}

fn refusal(bytes: &[u8]) -> String {
    let (_folder, path) = file(bytes);
    message(&path)
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Without a limit of memory.
fn options<'a>(progress: &'a (dyn Fn(f32) + Sync), cancel: &'a AtomicBool) -> csv::Options<'a> {
    csv::Options { memory: u64::MAX, progress, cancel }
}

#[test]
fn files_that_are_not_there_or_empty() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(message(&folder.path().join("no.csv")), ": there is no such file: check the name and the folder");
    assert_eq!(message(folder.path()), ": this is a folder: name a CSV file in it");
    let empty = ": the file is empty: a table needs a line of column names and rows below it";
    for bytes in ["", "\n\r\n  \n", "\u{feff}", "\u{feff}\n"] {
        assert_eq!(refusal(bytes.as_bytes()), empty, "{bytes:?}");
    }
    assert_eq!(refusal(&packed(b"")), empty);
    for bytes in ["a,b", "a,b\n", "a,b\r\n\n \n"] {
        assert_eq!(refusal(bytes.as_bytes()), ": there are column names but no rows below them", "{bytes:?}");
    }
}

#[test]
fn files_that_are_no_text() {
    let advice = |bytes: &[u8]| refusal(bytes).strip_prefix(": this is no text: ").unwrap().to_owned();
    assert_eq!(
        advice(b"PK\x03\x04\x14\0\x06\0"),
        "it is a spreadsheet or a ZIP archive; save the table as CSV, or unpack it"
    );
    assert_eq!(advice(b"\xff\xfea\0,\0b\0"), "it is UTF-16; save it as UTF-8");
    assert_eq!(advice(b"a\0,\0b\0\n\0"), "it has zero bytes; save the table as CSV in UTF-8");
    assert_eq!(advice(b"\x7fELF,\x02\n1,2\n"), "its first line has control characters; save the table as CSV in UTF-8");
    assert_eq!(
        refusal(b"a,b\n1,2\n3,4\n5,\x006\n"),
        ": this is no text: it has zero bytes; save the table as CSV in UTF-8"
    );
    let late = [b"a,b\n".as_slice(), &b"1,2\n".repeat(1_000_000), b"3,\0\n"].concat();
    assert_eq!(refusal(&late), ", line 1000002: this is no text: there is a zero byte in this line");
}

#[test]
fn rows_that_do_not_fit_the_header() {
    assert_eq!(
        refusal(b"a,b,c\n1,2,3\n\n4,5\n6\n"),
        ", line 4: 2 cells, but the header names 3 columns: mend the line"
    );
    assert_eq!(
        refusal(b"a,b\n\"x\ny\",2\n1,2,3\n"),
        ", line 4: 3 cells, but the header names 2 columns: mend the line, or put texts that contain the separator in double quotes"
    );
    assert_eq!(refusal(b"a,b\n1\n"), ", line 2: 1 cell, but the header names 2 columns: mend the line");
    // The first of several, in a file of many pieces.
    let many = [b"a,b\n".as_slice(), &b"1,2\n".repeat(500_000), b"3\n", &b"1,2\n".repeat(500_000), b"3\n"].concat();
    assert!(refusal(&many).starts_with(", line 500002: 1 cell"));
    assert_eq!(
        refusal(b"\nprice\n1\n2\n"),
        ", line 2: there is only one column, \"price\": a table needs two or more, with a comma, a semicolon or a tab between them"
    );
    let wide = vec!["x"; COLUMN_LIMIT + 1].join(",");
    assert_eq!(
        refusal(wide.as_bytes()),
        ", line 1: 16385 columns: the limit is 16384; leave out those that you don't need"
    );
}

#[test]
fn quotes_that_are_never_closed() {
    let unclosed = "a double quote opens here and is never closed: close it, or remove it";
    assert_eq!(refusal(b"a,b\n1,2\n3,\"x\n4,5\n"), format!(", line 3: {unclosed}"));
    assert_eq!(refusal(b"a,b\n1,2\n\"x\ny\",\"z\n4,5\n"), format!(", line 4: {unclosed}"));
    assert_eq!(refusal(b"a,\"b\n1,2\n"), format!(", line 1: {unclosed}"));
    let long = [b"a,b\n1,2\n3,\"x".as_slice(), &b"4,5\n".repeat(8_000_000)].concat();
    assert_eq!(refusal(&long), format!(", line 3: {unclosed}"));
}

#[test]
fn lines_without_end() {
    let long = "this line is longer than 16 MiB: is this a table with a line for each row?";
    let letters = vec![b'x'; 40 << 20];
    assert_eq!(refusal(&letters), format!(", line 1: {long}"));
    assert_eq!(refusal(&packed(&[b"a,b\n1,2\n".as_slice(), &letters, b",2\n"].concat())), format!(", line 3: {long}"));
    // A little less is a cell like others.
    let (_folder, path) = file(&[b"a,b\n".as_slice(), &letters[..15 << 20], b",2\n"].concat());
    assert_eq!(csv::read(&path).unwrap().columns()[0].text(0).len(), 15 << 20);
}

#[test]
fn gzip_files_that_are_damaged() {
    let rows: String = (0..100_000).map(|row| format!("{row},{}\n", row * 7919 % 10_007)).collect();
    let whole = packed(format!("a,b\n{rows}").as_bytes());
    let advice = "the gzip file is damaged or cut off: fetch or pack it again";
    for length in [2, 5, 20, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let message = refusal(&whole[..length]);
        assert!(message.contains(advice), "{length}: {message}");
    }
    let mut damaged = whole.clone();
    let checksum = whole.len() - 6;
    damaged[checksum] ^= 1;
    assert!(refusal(&damaged).contains(advice));
    // Two packed files in a row are one.
    let (_folder, path) = file(&[whole, packed(b"1,2\n")].concat());
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
fn progress_grows_to_1_and_cancel_stops() {
    let (_folder, path) = file(&packed(&[b"a,b\n".as_slice(), &b"1,2\n".repeat(1_000_000)].concat()));
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
fn rows_that_take_more_memory_than_they_may() {
    const ROWS: usize = 1_000_000;
    let numbers = [b"a,b\n".as_slice(), &b"1,2\n".repeat(ROWS)].concat();
    let texts: String = (0..ROWS).map(|row| format!("text {row},{}\n", row % 7)).collect();
    for bytes in [packed(&numbers), packed(format!("a,b\n{texts}").as_bytes()), numbers] {
        let (_folder, path) = file(&bytes);
        let cancel = AtomicBool::new(false);
        let within = |memory| csv::read_with(&path, csv::Options { memory, ..options(&|_| (), &cancel) });
        let error = within(8 << 20).unwrap_err();
        let CsvProblem::TooLarge { rows, .. } = error.problem else { panic!("{error}") };
        // A row takes 16 to 80 bytes; the pieces that several threads have in hand come on top.
        assert!((50_000..ROWS).contains(&rows), "{rows}");
        let expected = format!("{}: {rows} rows are read and take more than the 8 MiB of memory", path.display());
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert_eq!(within(256 << 20).unwrap().rows(), ROWS);
    }
}
