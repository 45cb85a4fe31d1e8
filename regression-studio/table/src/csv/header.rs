//! The header line: the columns' names and the file's separators.

use std::collections::HashMap;

use memchr::memchr;

use super::error::CsvProblem;
use super::grammar::Grammar;
use super::limits::COLUMN_LIMIT;
use super::value;

/// Candidate separators; on a tie in the header the earlier one is taken, which is rarer in names.
const SEPARATORS: [u8; 3] = [b'\t', b';', b','];

/// UTF-8's byte order mark.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Magic numbers of files that are not text, and advice for each.
const NOT_TEXT: [(&[u8], &str); 9] = [
    (b"\xff\xfe", ": it is UTF-16; save it as UTF-8"),
    (b"\xfe\xff", ": it is UTF-16; save it as UTF-8"),
    (b"PK\x03\x04", ": it is a spreadsheet or a ZIP archive; save the table as CSV, or unpack it"),
    (b"\xd0\xcf\x11\xe0", ": it is a spreadsheet; save the table as CSV"),
    (b"%PDF", ": it is a PDF document; get the table as CSV"),
    (b"PAR1", ": it is a Parquet file; save the table as CSV"),
    (b"BZh", ": it is compressed with bzip2; decompress it"),
    (b"\xfd7zXZ", ": it is compressed with xz; decompress it"),
    (b"\x28\xb5\x2f\xfd", ": it is compressed with Zstandard; decompress it"),
];

/// The columns' names, the grammar of the file and the start of its rows.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    /// Distinct, none empty.
    pub(super) names: Vec<String>,
    pub(super) grammar: Grammar,
    /// Offset in bytes of the first row.
    pub(super) end: usize,
    /// Line breaks before it.
    pub(super) lines: u64,
}

/// Finds the header in `text`, which is the whole file if `is_whole` and its first bytes otherwise. `None` if the
/// header is incomplete and more bytes follow.
///
/// # Errors
/// The line, counted from 0, and the problem.
pub(super) fn find(text: &[u8], is_whole: bool) -> Result<Option<Header>, (Option<u64>, CsvProblem)> {
    if let Some((_, advice)) = NOT_TEXT.iter().find(|(signature, _)| text.starts_with(signature)) {
        return Err((None, CsvProblem::NotText(advice)));
    }
    if memchr(0, text).is_some() {
        return Err((None, CsvProblem::NotText(": it contains null bytes; save the table as CSV in UTF-8")));
    }
    let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let Some(first) = text.iter().skip(mark).position(|byte| !byte.is_ascii_whitespace()).map(|first| mark + first)
    else {
        return if is_whole { Err((None, CsvProblem::Empty)) } else { Ok(None) };
    };
    let is_line_end = |&byte: &u8| byte == b'\n' || byte == b'\r';
    let start = text[mark..first].iter().rposition(is_line_end).map_or(mark, |last| mark + last + 1);
    let Some(extent) = Extent::of(text, start, is_whole) else { return Ok(None) };
    let lines_until = |end: usize| memchr::memchr_iter(extent.line_end, &text[..end]).count() as u64;
    let line = lines_until(start);
    if extent.is_binary {
        return Err((
            None,
            CsvProblem::NotText(": its first line contains control characters; save the table as CSV in UTF-8"),
        ));
    }
    if let Some(quote) = extent.open_quote {
        return Err((Some(lines_until(quote)), CsvProblem::UnclosedQuote));
    }
    let grammar = Grammar { separator: extent.separator(), line_end: extent.line_end };
    let names = cells(grammar, &text[start..extent.end]);
    match names.len() {
        0 | 1 => {
            let name = names.first().map_or(String::new(), |name| name.chars().take(40).collect());
            Err((Some(line), CsvProblem::OneColumn(name)))
        }
        count if count > COLUMN_LIMIT => Err((Some(line), CsvProblem::TooManyColumns(count))),
        _ => {
            let names = named(names).map_err(|problem| (Some(line), problem))?;
            Ok(Some(Header { names, grammar, end: extent.end, lines: lines_until(extent.end) }))
        }
    }
}

/// The header's extent and counts, found before the separator is known.
struct Extent {
    /// Offset after its line break.
    end: usize,
    line_end: u8,
    /// Occurrences of each of [`SEPARATORS`] outside quotes.
    counts: [usize; SEPARATORS.len()],
    open_quote: Option<usize>,
    is_binary: bool,
}

/// Position in a cell outside quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Before its first character: a quote opens the cell.
    CellStart,
    /// Directly after a closing quote: another quote makes it a doubled one and reopens the cell.
    AfterQuote,
    /// Inside the cell: a quote is a character.
    InCell,
}

impl Extent {
    /// `None` if the header is incomplete and `is_whole` is false.
    fn of(text: &[u8], start: usize, is_whole: bool) -> Option<Self> {
        let mut extent = Self { end: text.len(), line_end: b'\n', counts: [0; 3], open_quote: None, is_binary: false };
        let has_line_feeds = memchr(b'\n', text).is_some();
        let mut position = Position::CellStart;
        for (at, &byte) in text.iter().enumerate().skip(start) {
            extent.is_binary |= (byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0x7f;
            if extent.open_quote.is_some() {
                if byte == b'"' {
                    (extent.open_quote, position) = (None, Position::AfterQuote);
                }
                continue;
            }
            let separator = SEPARATORS.iter().position(|&separator| separator == byte);
            match byte {
                b'"' if position != Position::InCell => extent.open_quote = Some(at),
                b'\n' => return Some(Self { end: at + 1, ..extent }),
                // Classic Mac OS ends lines with CR. The next byte must be known, since CRLF is another ending.
                b'\r' if !has_line_feeds => {
                    let is_certain = is_whole || text.len() > at + 1;
                    return is_certain.then_some(Self { end: at + 1, line_end: b'\r', ..extent });
                }
                _ => {}
            }
            if let Some(count) = separator.and_then(|separator| extent.counts.get_mut(separator)) {
                *count += 1;
            }
            position = match byte {
                _ if separator.is_some() => Position::CellStart,
                b' ' | b'\r' if position == Position::CellStart => Position::CellStart,
                _ => Position::InCell,
            };
        }
        is_whole.then_some(extent)
    }

    fn separator(&self) -> u8 {
        let max = self.counts.iter().max();
        let found = SEPARATORS.iter().zip(&self.counts).find(|(_, count)| Some(*count) == max);
        found.map_or(b',', |(&separator, _)| separator)
    }
}

/// The header's cells; each run of blanks and line breaks becomes one space.
fn cells(grammar: Grammar, line: &[u8]) -> Vec<String> {
    let (mut names, mut at) = (Vec::new(), 0);
    loop {
        let cell = grammar.cell(line, at);
        names.push(value::text(&cell.bytes).split_whitespace().collect::<Vec<_>>().join(" "));
        if cell.is_last {
            return names;
        }
        at = cell.next;
    }
}

/// The names, of which an empty one becomes "column 3".
///
/// # Errors
/// If a name occurs twice.
fn named(names: Vec<String>) -> Result<Vec<String>, CsvProblem> {
    let name = |(index, name): (usize, String)| if name.is_empty() { format!("column {}", index + 1) } else { name };
    let names: Vec<String> = names.into_iter().enumerate().map(name).collect();
    let mut places = HashMap::new();
    for (place, name) in (1..).zip(&names) {
        if let Some(first) = places.insert(name, place) {
            return Err(CsvProblem::DuplicateName { name: name.clone(), places: [first, place] });
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        find(text.as_bytes(), true).unwrap().unwrap()
    }

    #[test]
    fn the_separator_is_the_most_frequent_in_the_header() {
        for (text, separator) in
            [("a,b\n", b','), ("a;b\n", b';'), ("a\tb\n", b'\t'), ("a;b,c;d\n", b';'), ("\"a;b;c\",d\n", b',')]
        {
            assert_eq!(header(text).grammar, Grammar { separator, line_end: b'\n' }, "{text:?}");
        }
    }

    #[test]
    fn names_are_trimmed_and_empty_ones_numbered() {
        let names = header("\u{feff}a, b ,,\"a\n (2)\",\"x \"\"y\"\"\"").names;
        assert_eq!(names, ["a", "b", "column 3", "a (2)", "x \"y\""]);
    }

    #[test]
    fn a_name_that_occurs_twice_is_rejected_with_both_places() {
        for (text, name, places) in [("a, b ,c,b\n", "b", [2, 4]), ("a,,column 2\n", "column 2", [2, 3])] {
            match find(text.as_bytes(), true) {
                Err((Some(0), CsvProblem::DuplicateName { name: found, places: at })) => {
                    assert_eq!((found.as_str(), at), (name, places));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn rows_begin_after_the_header() {
        let found = |text| (header(text).end, header(text).lines, header(text).names.concat());
        assert_eq!(found("a,b\r\n1,2"), (5, 1, "ab".to_owned()));
        assert_eq!(found("\n \r\n  a,b\n1,2"), (10, 3, "ab".to_owned()));
        assert_eq!(found("\"a\nc\",b\n1,2"), (8, 2, "a cb".to_owned()));
        assert_eq!(found("a,b"), (3, 0, "ab".to_owned()));
        assert_eq!(header("a,b\r1,2\r").grammar, Grammar { separator: b',', line_end: b'\r' });
        // An empty first name counts as a column.
        assert_eq!(header("\ta\n").names, ["column 1", "a"]);
    }

    #[test]
    fn an_incomplete_header_is_not_found() {
        let whole = "\u{feff}\r\n\"a \"\"x\"\"\n\", b\r\n";
        for end in BYTE_ORDER_MARK.len()..whole.len() {
            assert_eq!(find(&whole.as_bytes()[..end], false).unwrap(), None, "{end}");
        }
        assert_eq!(find(whole.as_bytes(), false).unwrap(), Some(header(whole)));
    }

    #[test]
    fn a_carriage_return_ends_the_header_only_if_no_line_feed_follows() {
        assert_eq!(find(b"a,b\r", false).unwrap(), None);
        let found = |text: &[u8], is_whole| {
            let header = find(text, is_whole).unwrap().unwrap();
            (header.grammar.line_end, header.end, header.names.concat())
        };
        assert_eq!(found(b"a,b\r", true), (b'\r', 4, "ab".to_owned()));
        assert_eq!(found(b"a,b\r1", false), (b'\r', 4, "ab".to_owned()));
        assert_eq!(found(b"a,b\r\n", false), (b'\n', 5, "ab".to_owned()));
    }

    #[test]
    fn a_quote_within_a_name_is_an_ordinary_character() {
        assert_eq!(header("5\" disk,3\" disk\n").names, ["5\" disk", "3\" disk"]);
        assert_eq!(header("disk 5\";disk \"3\n").names, ["disk 5\"", "disk \"3"]);
        assert_eq!(header(" \"a,b\" c;d\n").names, ["a,b c", "d"]);
    }
}
