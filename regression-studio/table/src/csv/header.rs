//! The header line, if there is one: the columns' names and the file's separators.

use std::collections::HashMap;

use memchr::memchr;

use super::Declared;
use super::error::{CsvProblem, Fault};
use super::grammar::Grammar;
use super::limits::COLUMN_LIMIT;
use super::value::{self, Says};
use super::{detect, foreign};
use crate::{DecimalMark, shortened};

/// Candidate separators. On a tie in the header, the earlier one is chosen, because it is rarer in
/// names.
const SEPARATORS: [u8; 3] = [b'\t', b';', b','];

/// UTF-8's byte order mark.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Number of rows below a line that decide whether it is a header, and their maximum size in bytes.
const ROWS_BELOW: usize = 20;
const BYTES_BELOW: usize = 1 << 20;

/// The columns' names, the grammar of the file and the start of its rows.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    /// Distinct and not empty.
    pub(super) names: Vec<String>,
    pub(super) grammar: Grammar,
    /// Offset in bytes of the first row.
    pub(super) end: usize,
    /// Number of line breaks before the first row.
    pub(super) lines: u64,
    /// Whether the header's text may have another encoding than UTF-8.
    pub(super) may_be_other: bool,
    /// What a user should know about the header, one line each.
    pub(super) notes: Vec<String>,
}

/// The header found in the first bytes of a file.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    Header(Header),
    /// More bytes are needed: the header line is incomplete.
    Incomplete,
    /// More bytes are needed: the rows that decide are incomplete.
    NeedsRows,
}

/// The first bytes of a file.
#[derive(Clone, Copy)]
pub(super) struct Beginning<'a> {
    pub(super) text: &'a [u8],
    /// Whether these bytes are the whole file.
    pub(super) is_whole: bool,
}

impl<'a> Beginning<'a> {
    /// The bytes starting at an offset that may show whether the line above them is a header.
    fn below(self, at: usize) -> &'a [u8] {
        let below = &self.text[at..];
        &below[..below.len().min(BYTES_BELOW)]
    }
}

/// Finds the header. The result does not depend on extra bytes beyond the needed ones.
pub(super) fn find(beginning: Beginning, declared: &Declared) -> Result<Found, Fault> {
    let Beginning { text, is_whole } = beginning;
    let of_file = |problem| Fault { line: None, problem };
    if memchr(0, text).is_some() {
        return Err(of_file(CsvProblem::NotText(foreign::null_bytes(text))));
    }
    let above = match Above::of(beginning) {
        Some(above) => above,
        None if is_whole => return Err(of_file(CsvProblem::Empty)),
        None => return Ok(Found::Incomplete),
    };
    let title = match declared.header {
        None => Title::find(beginning, above.end, above.separator),
        Some(_) => Title::None,
    };
    let start = match title {
        Title::Until(end) => end,
        Title::None => above.end,
        Title::NeedsRows => return Ok(Found::NeedsRows),
    };
    let Some(extent) = Extent::of(beginning, start) else { return Ok(Found::Incomplete) };
    if extent.is_binary {
        let hint = ": its first line contains control characters; save the table as CSV in UTF-8";
        return Err(of_file(CsvProblem::NotText(hint)));
    }
    if let Some(quote) = extent.open_quote {
        let line = Some(line_breaks(&text[..quote], extent.line_end));
        return Err(Fault { line, problem: CsvProblem::UnclosedQuote });
    }
    let first = Record::of(beginning, start, &extent, above.separator);
    if !first.is_complete {
        return Ok(Found::NeedsRows);
    }
    Header::of(text, &above, first, declared).map(Found::Header)
}

impl Header {
    /// The header of a file with first record `first`, below the lines `above` and a title.
    fn of(text: &[u8], above: &Above, first: Record, declared: &Declared) -> Result<Self, Fault> {
        let grammar = first.grammar;
        let lines_until = |end: usize| line_breaks(&text[..end], grammar.line_end);
        let line = lines_until(first.start);
        let mut notes = Vec::new();
        if first.start > above.end {
            let title = value::text(&text[above.end..first.start]);
            let title = title.trim().lines().next().unwrap_or_default().trim_end_matches([',', ';', '\t', ' ']);
            notes.push(format!(
                "line {} looks like a title ({:?}): the header is line {}; header = true in [data] takes the first line for it",
                lines_until(above.end) + 1,
                shortened(title.trim_matches('"')),
                line + 1
            ));
        }
        let names = Names::find(&first, above.comment.as_deref(), declared.header);
        let skipped = above.comments - usize::from(matches!(names, Names::InComment(_)));
        if skipped > 0 {
            notes.push(format!("lines that begin with # are comments: {skipped} skipped above the table"));
        }
        let (names, end) = match names {
            Names::InComment(names) => (names, first.start),
            Names::InFirst => (with_row_names(first.cells, &first.rows, &mut notes), first.end),
            Names::None => {
                if declared.header.is_none() {
                    notes.push(format!(
                        "line {} holds numbers as the rows below it, so that it is read as a row and the columns are named \
                         column 1, column 2, …; header = true in [data] takes it for their names",
                        line + 1
                    ));
                }
                (vec![String::new(); first.cells.len()], first.start)
            }
        };
        let of_line = |problem| Fault { line: Some(line), problem };
        let names = numbered(names, declared.may_have_one_column).map_err(of_line)?;
        let may_be_other = detect::may_be_other(&text[..end]);
        Ok(Self { names, grammar, end, lines: lines_until(end), may_be_other, notes })
    }
}

fn line_breaks(text: &[u8], line_end: u8) -> u64 {
    memchr::memchr_iter(line_end, text).count() as u64
}

/// The lines above the header: blank ones, comments, and Excel's `sep=;`.
struct Above {
    /// The start of the first line below these lines.
    end: usize,
    separator: Option<u8>,
    comments: usize,
    /// The last comment, without its #.
    comment: Option<Vec<u8>>,
}

impl Above {
    /// Reads the lines above the header. `None` if there is no complete line below them yet.
    fn of(Beginning { text, is_whole }: Beginning) -> Option<Self> {
        let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let is_line_end = |byte: &u8| *byte == b'\n' || *byte == b'\r';
        let mut above = Self { end: mark, separator: None, comments: 0, comment: None };
        loop {
            let first = above.end + text.get(above.end..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
            let line_end = text[first..].iter().position(is_line_end).map(|length| first + length);
            let may_be_above = text[first] == b'#' || matches!(text[first], b's' | b'S' | b'"');
            let line_end = line_end.or_else(|| (is_whole || !may_be_above).then_some(text.len()))?;
            let line = &text[first..line_end];
            if let Some(separator) = separator_line(line) {
                above.separator = Some(separator);
            } else if let Some(comment) = line.strip_prefix(b"#") {
                above.comments += 1;
                above.comment = Some(comment.to_vec());
            } else {
                let start = text[above.end..first].iter().rposition(is_line_end);
                above.end += start.map_or(0, |last| last + 1);
                return Some(above);
            }
            above.end = line_end;
        }
    }
}

/// Lines above the header that are not part of the table, such as "Export of 2026".
#[derive(Debug, PartialEq, Eq)]
enum Title {
    None,
    /// The header begins at this offset.
    Until(usize),
    /// More bytes are needed.
    NeedsRows,
}

impl Title {
    /// Maximum number of lines in a title.
    const LINES: usize = 10;

    /// Finds the first line below `start` that can be a header, if the line at `start` cannot. Each
    /// line above it has fewer cells, each row below it has as many, and it has names over numbers.
    fn find(beginning: Beginning, start: usize, separator: Option<u8>) -> Self {
        let Beginning { text, is_whole } = beginning;
        let Some(first) = Record::at(beginning, start, separator) else { return Self::None };
        if !first.is_complete {
            return Self::NeedsRows;
        }
        let filled = first.cells.iter().filter(|cell| !cell.is_empty()).count();
        let longest = first.rows.iter().map(Vec::len).max().unwrap_or(0);
        let is_padded = filled == 1 && first.cells.len() > 2 && !first.cells[0].is_empty();
        let is_even = first.rows.iter().all(|row| row.len() == longest);
        let has_row_names = is_even && longest == first.cells.len() + 1;
        if first.rows.is_empty() || is_even && longest == first.cells.len() && !is_padded {
            return Self::None;
        }
        let mut above = vec![&text[start..first.end]];
        let mut at = first.end;
        for _ in 0..=Self::LINES {
            let Some(next) = text[at..].iter().position(|byte| !byte.is_ascii_whitespace()).map(|offset| at + offset)
            else {
                return Self::None;
            };
            let Some(record) = Record::at(beginning, next, separator) else {
                let may_end = !is_whole && text.len() - next < BYTES_BELOW;
                return if may_end { Self::NeedsRows } else { Self::None };
            };
            if !record.is_complete {
                return Self::NeedsRows;
            }
            let count = record.cells.len();
            let is_shorter =
                |line: &&[u8]| cells(record.grammar, line).iter().filter(|cell| !cell.is_empty()).count() < count;
            let is_name = |cell: &String| !value::is_missing(cell.as_bytes()) && !is_number(cell);
            let is_header = count > 1
                && !record.rows.is_empty()
                && record.rows.iter().all(|row| row.len() == count)
                && record.cells.iter().all(is_name)
                && above.iter().all(is_shorter)
                && Likeness::of(&record.cells, &record.rows) == Likeness::Header;
            if is_header {
                return Self::Until(next);
            }
            if has_row_names {
                return Self::None;
            }
            above.push(&text[next..record.end]);
            at = record.end;
        }
        Self::None
    }
}

/// A line as a potential header, and the rows below it.
struct Record {
    grammar: Grammar,
    cells: Vec<String>,
    rows: Vec<Vec<String>>,
    start: usize,
    /// The offset after the line.
    end: usize,
    /// Whether there are enough rows to decide.
    is_complete: bool,
}

impl Record {
    /// Reads the record at `start`. `None` if it is incomplete, or not a record.
    fn at(beginning: Beginning, start: usize, separator: Option<u8>) -> Option<Self> {
        let extent = Extent::of(beginning, start).filter(|extent| extent.open_quote.is_none())?;
        Some(Self::of(beginning, start, &extent, separator))
    }

    fn of(beginning: Beginning, start: usize, extent: &Extent, separator: Option<u8>) -> Self {
        let Beginning { text, is_whole } = beginning;
        let (end, below) = (extent.end, beginning.below(extent.end));
        let below_it = Beginning { text: below, is_whole };
        let separator = separator.or_else(|| extent.separator_here_or_in(below_it)).unwrap_or(b',');
        let grammar = Grammar { separator, line_end: extent.line_end };
        let cells = cells(grammar, &text[start..end]);
        let rows = rows(grammar, below_it, cells.len());
        let is_complete = rows.len() >= ROWS_BELOW || below.len() >= BYTES_BELOW || is_whole;
        Self { grammar, cells, rows, start, end, is_complete }
    }
}

/// The location of the columns' names.
enum Names {
    /// In the comment above the first record, as written by NumPy.
    InComment(Vec<String>),
    /// In the first record.
    InFirst,
    None,
}

impl Names {
    /// Finds the names. They may be in the last comment above the first record, or in that record
    /// itself, which a declaration can decide.
    fn find(first: &Record, comment: Option<&[u8]>, is_declared: Option<bool>) -> Self {
        let likeness = Likeness::of(&first.cells, &first.rows);
        if likeness != Likeness::Header
            && is_declared != Some(false)
            && let Some(names) = comment.map(|comment| cells(first.grammar, comment))
            && names.len() == first.cells.len()
            && names.len() > 1
            && names.iter().all(|name| !name.contains(char::is_control))
            && names.iter().any(|name| !is_number(name))
        {
            return Self::InComment(names);
        }
        if is_declared.unwrap_or(likeness != Likeness::LikeRows) { Self::InFirst } else { Self::None }
    }
}

/// The separator in a line such as `sep=;`, which Excel uses to read a file.
fn separator_line(line: &[u8]) -> Option<u8> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let (name, separator) = line.split_at_checked(4)?;
    match separator {
        // The separator is a tab: it was trimmed as a blank.
        [] if name.eq_ignore_ascii_case(b"sep=") => Some(b'\t'),
        [separator] if name.eq_ignore_ascii_case(b"sep=") && SEPARATORS.contains(separator) => Some(*separator),
        _ => None,
    }
}

/// Complete rows, at most [`ROWS_BELOW`].
fn rows(grammar: Grammar, Beginning { text, is_whole }: Beginning, columns: usize) -> Vec<Vec<String>> {
    let is_all = is_whole && text.len() < BYTES_BELOW;
    let below = if is_all { text } else { &text[..grammar.complete_records(text).end] };
    let (mut rows, mut at) = (Vec::new(), 0);
    while at < below.len() && rows.len() < ROWS_BELOW {
        let skipped = grammar.blank_line(below, at).or_else(|| grammar.comment(below, at, columns).map(|(end, _)| end));
        if let Some(next) = skipped {
            at = next;
            continue;
        }
        let mut row = Vec::new();
        loop {
            let cell = grammar.cell(below, at);
            row.push(value::text(&cell.bytes).into_owned());
            at = cell.next;
            if cell.is_last {
                break;
            }
        }
        rows.push(row);
    }
    rows
}

/// Whether the first line is like the rows below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    /// The line has a text over numbers.
    Header,
    /// The line has a number over each column of numbers.
    LikeRows,
    /// No column of the rows is numeric.
    Open,
}

impl Likeness {
    fn of(first: &[String], rows: &[Vec<String>]) -> Self {
        let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
        let given = |column: usize| cells(column).filter(|cell| !value::is_missing(cell.as_bytes()));
        let is_numeric = |&column: &usize| given(column).next().is_some() && given(column).all(|cell| is_number(cell));
        let of_numbers: Vec<&String> = (0..first.len()).filter(is_numeric).map(|column| &first[column]).collect();
        // Years and positions are column names, too.
        let numbers = of_numbers.iter().filter_map(|name| value::spelled(name, DecimalMark::Point));
        let numbers: Vec<f64> = numbers.collect();
        let is_run = numbers.len() > 2 && numbers.windows(2).all(|pair| pair[1] - pair[0] == 1.0);
        match (of_numbers.is_empty(), of_numbers.iter().all(|name| is_number(name))) {
            (true, _) => Self::Open,
            (false, true) if !is_run && rows.iter().all(|row| row.len() == first.len()) => Self::LikeRows,
            (false, _) => Self::Header,
        }
    }
}

fn is_number(cell: &str) -> bool {
    value::says(cell.as_bytes()) != Says::NoNumber
}

/// The names, with an empty one at the front if every row has one cell more, as in R's tables with
/// row names.
fn with_row_names(mut names: Vec<String>, rows: &[Vec<String>], notes: &mut Vec<String>) -> Vec<String> {
    let is_longer = !rows.is_empty() && rows.iter().all(|row| row.len() == names.len() + 1);
    // A separator at the end of each row does not mean a column at the front.
    if is_longer && rows.iter().any(|row| row.last().is_some_and(|cell| !cell.is_empty())) {
        names.insert(0, String::new());
        notes.push("every row has one cell more than the header: the first column has no name".to_owned());
    }
    names
}

/// The header's extent and separator counts, found before the separator is known.
struct Extent {
    /// The offset after the header's line break.
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
    /// Before the cell's first character: a quote opens the cell.
    CellStart,
    /// Directly after a closing quote: another quote makes it a doubled quote and reopens the cell.
    AfterQuote,
    /// Inside the cell: a quote is an ordinary character.
    InCell,
}

impl Extent {
    /// Scans the header. `None` if it is incomplete and `is_whole` is false.
    fn of(Beginning { text, is_whole }: Beginning, start: usize) -> Option<Self> {
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
                // Classic Mac OS ends lines with CR. The next byte must be known, because CRLF is a
                // different line ending.
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

    /// The most frequent separator; `None` if there is none.
    fn separator(&self) -> Option<u8> {
        let max = self.counts.iter().copied().max().filter(|&max| max > 0)?;
        let found = SEPARATORS.iter().zip(&self.counts).find(|(_, count)| **count == max);
        found.map(|(&separator, _)| separator)
    }

    /// The most frequent separator, or else the most frequent one of the first row in `below`: a
    /// header of one column may belong to a table with row names.
    fn separator_here_or_in(&self, below: Beginning) -> Option<u8> {
        self.separator().or_else(|| {
            let first = below.text.iter().position(|byte| !byte.is_ascii_whitespace())?;
            Self::of(below, first)?.separator()
        })
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

/// Fills in empty names as "column 3".
///
/// # Errors
/// If there are too few or too many names, or a name occurs twice.
fn numbered(names: Vec<String>, may_be_one: bool) -> Result<Vec<String>, CsvProblem> {
    match &names[..] {
        [] => return Err(CsvProblem::OneColumn(String::new())),
        [name] if !may_be_one => return Err(CsvProblem::OneColumn(name.clone())),
        names if names.len() > COLUMN_LIMIT => return Err(CsvProblem::TooManyColumns(names.len())),
        _ => {}
    }
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

    fn found(text: &[u8], is_whole: bool) -> Found {
        find(Beginning { text, is_whole }, &Declared::default()).unwrap()
    }

    fn find_in(text: &str, declared: &Declared) -> Result<Found, Fault> {
        find(Beginning { text: text.as_bytes(), is_whole: true }, declared)
    }

    fn header(text: &str) -> Header {
        match found(text.as_bytes(), true) {
            Found::Header(header) => header,
            other => panic!("{other:?}"),
        }
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
            match find_in(text, &Declared::default()) {
                Err(Fault { line: Some(0), problem: CsvProblem::DuplicateName { name: found, places: at } }) => {
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
            assert_eq!(found(&whole.as_bytes()[..end], false), Found::Incomplete, "{end}");
        }
        assert_eq!(found(whole.as_bytes(), false), Found::NeedsRows);
        let rows = whole.to_owned() + &"1,2\n".repeat(ROWS_BELOW);
        for end in whole.len()..rows.len() {
            assert_eq!(found(&rows.as_bytes()[..end], false), Found::NeedsRows, "{end}");
        }
        let wanted = Found::Header(header(whole));
        assert_eq!(found(rows.as_bytes(), false), wanted);
        assert_eq!(found((rows + "3,4\n5").as_bytes(), false), wanted);
    }

    #[test]
    fn a_carriage_return_ends_the_header_only_if_no_line_feed_follows() {
        assert_eq!(found(b"a,b\r", false), Found::Incomplete);
        let header = |text: &str| {
            let header = header(text);
            (header.grammar.line_end, header.end, header.names.concat())
        };
        assert_eq!(header("a,b\r"), (b'\r', 4, "ab".to_owned()));
        assert_eq!(header("a,b\r1,2"), (b'\r', 4, "ab".to_owned()));
        assert_eq!(header("a,b\r\n"), (b'\n', 5, "ab".to_owned()));
    }

    #[test]
    fn a_quote_within_a_name_is_an_ordinary_character() {
        assert_eq!(header("5\" disk,3\" disk\n").names, ["5\" disk", "3\" disk"]);
        assert_eq!(header("disk 5\";disk \"3\n").names, ["disk 5\"", "disk \"3"]);
        assert_eq!(header(" \"a,b\" c;d\n").names, ["a,b c", "d"]);
    }

    /// The names, the offset of the first row, and the number of notes.
    fn named_in(text: &str) -> (Vec<String>, usize, usize) {
        let header = header(text);
        (header.names, header.end, header.notes.len())
    }

    fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
        names.map(str::to_owned).to_vec()
    }

    #[test]
    fn a_first_line_with_numbers_over_numbers_is_a_row() {
        let numbered = |count: usize| (1..=count).map(|column| format!("column {column}")).collect::<Vec<_>>();
        assert_eq!(named_in("19,1,950.0\n25,2,1250\n"), (numbered(3), 0, 1));
        assert_eq!(named_in("bob,7\njim,8\n"), (numbered(2), 0, 1));
        assert_eq!(named_in("\n1,5;x\n2,5;y\n"), (numbered(2), 1, 1));
        assert_eq!(named_in("7,7\n8,8\n"), (numbered(2), 0, 1));
        // Years and positions are names. So are a text or an empty cell over a column of numbers.
        for text in ["land,2000,2001,2002\nx,5,6,7\n", "0,1,2\n3,3,3\n", "5,b\n6,7\n", ",5\n1,6\n", "a,b\nx,y\n"] {
            assert_eq!(named_in(text).2, 0, "{text:?}");
        }
        let declared = |header| Declared { header: Some(header), ..Declared::default() };
        let declared = |text: &str, header| match find_in(text, &declared(header)).unwrap() {
            Found::Header(header) => (header.names, header.end, header.notes.len()),
            other => panic!("{other:?}"),
        };
        assert_eq!(declared("19,1\n25,2\n", true), (names(["19", "1"]), 5, 0));
        assert_eq!(declared("a,b\nx,y\n", false), (numbered(2), 0, 0));
    }

    #[test]
    fn comments_and_excels_separator_are_above_the_header() {
        assert_eq!(named_in("sep=;\na,b;c\n1,5;2\n"), (names(["a,b", "c"]), 12, 0));
        assert_eq!(named_in("\u{feff}\"sep=\t\"\r\na,b\tc\r\n1\t2\r\n"), (names(["a,b", "c"]), 19, 0));
        assert_eq!(named_in("# by hand\n\n# in cm\na,b\n1,2\n"), (names(["a", "b"]), 23, 1));
        assert_eq!(header("# by hand\na,b\n1,2\n").lines, 2);
        // NumPy writes the names after the # mark.
        assert_eq!(named_in("# a,b\n1,2\n3,4\n"), (names(["a", "b"]), 6, 0));
        assert_eq!(named_in("#name,town\nbob,york\n"), (names(["name", "town"]), 11, 0));
        assert_eq!(named_in("# a, note\nx,y\n1,2\n"), (names(["x", "y"]), 14, 1));
        assert_eq!(named_in("a#,#b\n1,2\n"), (names(["a#", "#b"]), 6, 0));
        let whole = "# one\nsep=;\na;b\n";
        for end in 0..whole.len() {
            assert_eq!(found(&whole.as_bytes()[..end], false), Found::Incomplete, "{end}");
        }
    }

    #[test]
    fn a_table_with_row_names_has_a_column_without_a_name() {
        let (found, _, notes) = named_in("\"area\",\"price\"\n\"1\",19,950.0\n\"2\",25,1250.0\n");
        assert_eq!((found, notes), (names(["column 1", "area", "price"]), 1));
        assert_eq!(named_in("\"x\"\n\"1\",5\n\"2\",6\n").0, names(["column 1", "x"]));
        // A separator at the end of each row, or a single longer row, is an error in the rows.
        assert_eq!(named_in("a,b\n1,2,\n3,4,\n").0, names(["a", "b"]));
        assert_eq!(named_in("a,b\n1,2,3\n3,4\n").0, names(["a", "b"]));
    }

    #[test]
    fn titles_above_the_header_are_skipped_and_stated() {
        for (text, wanted, line) in [
            ("Export of 2026\n\nx,b,y\n15,2.96,7\n30,3.13,9\n", &["x", "b", "y"][..], 2),
            ("Export of 2026\nx,b\n15,2.96\n30,3.13\n", &["x", "b"], 1),
            ("Sales, by region\nx;b;y\n15;2,96;7\n30;3,13;9\n", &["x", "b", "y"], 1),
            ("Report,,\nx,b,y\n15,2.96,7\n30,3.13,9\n", &["x", "b", "y"], 1),
            ("Station:,Berlin\nUnit:,°C\n\ndate,temp,hum\na,1,2\nb,3,4\n", &["date", "temp", "hum"], 3),
            ("\"A title\"\r\nx\tb\r\n1\t2\r\n", &["x", "b"], 1),
        ] {
            let header = header(text);
            assert_eq!(
                (&*header.names, header.lines),
                (&*wanted.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), line + 1),
                "{text:?}"
            );
            let note = format!(": the header is line {}; ", line + 1);
            assert!(header.notes.len() == 1 && header.notes[0].contains(&note), "{text:?}: {:?}", header.notes);
        }
        let title = header("Export of 2026\n\nx,b,y\n15,2.96,7\n").notes;
        assert!(
            title[0].starts_with("line 1 looks like a title (\"Export of 2026\"): the header is line 3"),
            "{title:?}"
        );
    }

    #[test]
    fn tables_and_damaged_rows_have_no_title() {
        for text in [
            "a,b,c\n1,2,3\n4,5\n6\n",
            "a,b\n1,2,3\n4,5,6\nx,y,z\n",
            "\"x\"\n\"1\",NA\n\"2\",5\n",
            ",x,y\n0,1,2\n1,3,4\n",
            "a,,\n1,2,3\n4,5,6\n",
            "name,town\nann,york\nbob,oslo\n",
            "a,b\nm,kg\n1,2\n3,4\n",
        ] {
            let header = header(text);
            assert!(!header.notes.iter().any(|note| note.contains("title")), "{text:?}: {:?}", header.notes);
        }
    }

    #[test]
    fn a_title_is_found_whatever_the_bytes_read_first() {
        let whole = "Export\n\nx,b,y\n".to_owned() + &"1,2,3\n".repeat(40);
        let wanted = found(whole.as_bytes(), true);
        for end in 1..whole.len() {
            match found(&whole.as_bytes()[..end], false) {
                Found::Incomplete | Found::NeedsRows => {}
                header => assert_eq!(header, wanted, "{end}"),
            }
        }
    }

    #[test]
    fn a_table_of_one_column_must_be_declared() {
        let declared = Declared { may_have_one_column: true, ..Declared::default() };
        let Found::Header(header) = find_in("x\n3\n4\n", &declared).unwrap() else { panic!("none") };
        assert_eq!((header.names, header.end), (names(["x"]), 2));
        let undeclared = find_in("x\n3\n4\n", &Declared::default());
        assert!(
            matches!(undeclared, Err(Fault { line: Some(0), problem: CsvProblem::OneColumn(name) }) if name == "x")
        );
    }
}
