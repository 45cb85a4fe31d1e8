//! Detects files of other formats, and paths of other systems.

use std::path::Path;

use super::error::CsvProblem;

/// The advice for a text with null bytes.
pub(super) const NULL_BYTES: &str = ": it contains null bytes; save the table as CSV in UTF-8";

/// The advice for a text that looks like UTF-16 without a byte order mark.
const UTF_16: &str = ": every other byte is zero, as in UTF-16; declare encoding = \"utf-16le\" or \"utf-16be\" in [data], or save it as UTF-8";

/// Magic numbers of files that are not text, and advice for each.
const BINARY: [(&[u8], &str); 23] = [
    (b"PK\x03\x04", ": it is a workbook or a ZIP archive in another file; unpack it, or save the table as CSV"),
    (b"\xd0\xcf\x11\xe0", ": it is a workbook in another file; unpack it, or save the table as CSV"),
    (b"%PDF", ": it is a PDF document; get the table as CSV"),
    (b"{\\rtf", ": it is a formatted document; save the table as CSV"),
    (b"PAR1", ": it is a Parquet file; save the table as CSV"),
    (b"ARROW1\0\0", ": it is an Arrow file; save the table as CSV"),
    (b"FEA1\0", ": it is a Feather file; save the table as CSV"),
    (b"SQLite format 3\0", ": it is a SQLite database; export the table as CSV"),
    (b"\x89HDF\r\n\x1a\n", ": it is an HDF5 file; save the table as CSV"),
    (b"CDF\x01", ": it is a netCDF file; save the table as CSV"),
    (b"CDF\x02", ": it is a netCDF file; save the table as CSV"),
    (b"\x93NUMPY", ": it is an array of NumPy; save the table as CSV"),
    (b"\x80\x04\x95", ": it is a pickle of Python; save the table as CSV"),
    (b"RDX3\n", ": it is a file of R; save the table by write.csv"),
    (b"$FL2", ": it is a file of SPSS; save the table as CSV"),
    (b"<stata_dta>", ": it is a file of Stata; save the table as CSV"),
    (b"\x89PNG", ": it is a picture; a table of numbers and texts is needed"),
    (b"\xff\xd8\xff", ": it is a picture; a table of numbers and texts is needed"),
    (b"Rar!\x1a\x07", ": it is a RAR archive; unpack it"),
    (b"7z\xbc\xaf\x27\x1c", ": it is a 7z archive; unpack it"),
    (b"BZh", ": it is compressed with bzip2; decompress it"),
    (b"\xfd7zXZ", ": it is compressed with xz; decompress it"),
    (b"\x28\xb5\x2f\xfd", ": it is compressed with Zstandard; decompress it"),
];

/// Checks the first bytes of a file, after decompression.
///
/// # Errors
/// If they belong to another format than CSV.
pub(super) fn check(head: &[u8]) -> Result<(), CsvProblem> {
    if let Some((_, advice)) = BINARY.iter().find(|(signature, _)| head.starts_with(signature)) {
        return Err(CsvProblem::NotText(advice));
    }
    match of_text(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start()) {
        Some((name, advice)) => Err(CsvProblem::OtherFormat(name, advice)),
        None => Ok(()),
    }
}

/// The name of a text format, and advice. Names in brackets, such as `[price]` or `<CLOSE>`, may be
/// column headers.
fn of_text(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const MARKUP: [&[u8]; 9] =
        [b"!doctype html", b"html", b"head", b"body", b"table", b"div", b"script", b"!--", b"p>"];
    const TO_CSV: &str = "convert it to CSV";
    if let Some(rest) = head.strip_prefix(b"<") {
        let begins = |name: &[u8]| rest.get(..name.len()).is_some_and(|first| first.eq_ignore_ascii_case(name));
        return match () {
            () if begins(b"?xml") => Some(("XML", TO_CSV)),
            () if MARKUP.iter().any(|name| begins(name)) => {
                Some(("HTML", "download the table itself, or save it from the page as CSV"))
            }
            () => None,
        };
    }
    let after = |first: u8, next: &[u8]| {
        let rest = head.strip_prefix(&[first])?.trim_ascii_start();
        rest.first().filter(|byte| next.contains(byte)).copied()
    };
    match (after(b'[', b"{[\""), after(b'{', b"\"}")) {
        (Some(_), _) => Some(("JSON", TO_CSV)),
        (None, Some(_)) => Some(("JSON", "convert it to CSV, with one column for each name")),
        (None, None) => None,
    }
}

/// The advice for a text with null bytes, depending on their positions.
pub(super) fn null_bytes(text: &[u8]) -> &'static str {
    let zeros = |from: usize| text.iter().take(1000).skip(from).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let half = text.len().min(1000) / 2;
    if even.max(odd) * 4 > 3 * half && even.min(odd) * 4 < half { UTF_16 } else { NULL_BYTES }
}

/// Whether a path is a Windows path, such as C:\tables\prices.csv, and this system is not Windows.
/// It may be appended to a folder of this system.
pub(super) fn is_of_windows(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let is_drive = |name: &str| {
        let mut characters = name.chars();
        characters.next().is_some_and(|drive| drive.is_ascii_alphabetic()) && characters.next() == Some(':')
    };
    let has_drive = path.components().any(|part| is_drive(&part.as_os_str().to_string_lossy()));
    !cfg!(windows) && (name.contains('\\') || has_drive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_text_formats_are_named_and_tables_are_not() {
        for (head, wanted) in [
            ("[{\"x\":1}]", "JSON"),
            ("[\n  {\n", "JSON"),
            ("[[1,2],[3,4]]", "JSON"),
            ("\u{feff} {\"x\":1,\"y\":2}\n{\"x\":2}\n", "JSON"),
            ("{\n \"data\": []}", "JSON"),
            ("<!DOCTYPE html><html>", "HTML"),
            ("\n<HTML>", "HTML"),
            ("<table><tr>", "HTML"),
            ("<?xml version=\"1.0\"?>", "XML"),
        ] {
            let problem = check(head.as_bytes()).unwrap_err().to_string();
            assert!(problem.starts_with(&format!("this is {wanted}, not a table: ")), "{head:?}: {problem}");
        }
        for head in ["a,b\n", "[x],[y]\n", "<TICKER>,<CLOSE>\n", "{x},{y}\n", "\"[\",b\n", "", "R,D,X\n"] {
            assert!(check(head.as_bytes()).is_ok(), "{head:?}");
        }
    }

    #[test]
    fn other_binary_formats_are_named() {
        for (head, wanted) in [
            (&b"SQLite format 3\0..."[..], "SQLite"),
            (b"PAR1....", "Parquet"),
            (b"%PDF-1.7", "PDF"),
            (b"PK\x03\x04", "workbook"),
            (b"\x89HDF\r\n\x1a\n", "HDF5"),
            (b"\x93NUMPY\x01", "NumPy"),
        ] {
            assert!(check(head).unwrap_err().to_string().contains(wanted), "{wanted}");
        }
        assert_eq!((null_bytes(b"a\0,\0b\0\n\0"), null_bytes(b"\0a\0,\0b")), (UTF_16, UTF_16));
        assert_eq!(null_bytes(b"a,b\n1,2\n3,4\n5,\x006\n"), NULL_BYTES);
    }

    #[test]
    #[cfg(not(windows))]
    fn paths_of_windows_are_known_on_other_systems() {
        for path in ["C:\\data\\t.csv", "/home/ann/C:\\t.csv", "data\\t.csv", "c:/data/t.csv"] {
            assert!(is_of_windows(Path::new(path)), "{path}");
        }
        assert!(!is_of_windows(Path::new("/home/ann/t.csv")));
    }
}
