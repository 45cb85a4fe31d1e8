//! The grammar of cells and records: RFC 4180, extended by blanks around cells.
//!
//! A record ends at a line break outside quotes. A quote opens a quoted cell if only blanks precede
//! it in the cell; elsewhere it is an ordinary character. In a quoted cell, a doubled quote stands
//! for one quote. Text after the closing quote belongs to the cell unchanged.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memrchr};

/// The bytes that separate cells and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grammar {
    /// A comma, a semicolon or a tab.
    pub(super) separator: u8,
    /// LF, or CR in classic Mac OS files.
    pub(super) line_end: u8,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell<'a> {
    /// The content, without quotes; trimmed if the cell was not quoted.
    pub(super) bytes: Cow<'a, [u8]>,
    /// Offset of the next cell, after the separator or the line break.
    pub(super) next: usize,
    /// Whether it is the last cell of its record.
    pub(super) is_last: bool,
    /// Line breaks in the cell.
    pub(super) lines: u64,
}

/// The result of [`Grammar::complete_records`], as offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Records {
    /// The end of the last complete record, after its line break; 0 if no record is complete.
    pub(super) end: usize,
    /// The position of an opening quote without a closing one.
    pub(super) open_quote: Option<usize>,
}

impl Grammar {
    /// The cell that begins at `start`. The end of the text also ends the cell.
    #[inline(always)]
    pub(super) fn cell<'a>(&self, text: &'a [u8], start: usize) -> Cell<'a> {
        let first = self.skip_blanks(text, start);
        if text.get(first) == Some(&b'"') {
            return self.quoted_cell(text, first);
        }
        let end = self.unquoted_end(text, first);
        let (next, is_last) = self.behind(text, end);
        Cell { bytes: self.trim_end(&text[first..end]).into(), next, is_last, lines: 0 }
    }

    /// The end of the blank line that begins at `start`, after its line break; `None` if the line
    /// is not blank.
    pub(super) fn blank_line(&self, text: &[u8], start: usize) -> Option<usize> {
        let first = self.skip_blanks(text, start);
        match text.get(first) {
            None => Some(first),
            Some(&byte) => (byte == self.line_end).then_some(first + 1),
        }
    }

    /// The end of the comment that begins at `start`, and its number of line breaks. A comment is a
    /// record that begins with # and does not have `columns` cells.
    pub(super) fn comment(&self, text: &[u8], start: usize, columns: usize) -> Option<(usize, u64)> {
        let first = self.skip_blanks(text, start);
        if text.get(first) == Some(&b'#') { self.comment_from(text, start, columns) } else { None }
    }

    #[cold]
    fn comment_from(&self, text: &[u8], start: usize, columns: usize) -> Option<(usize, u64)> {
        let (mut at, mut lines, mut found) = (start, 1, 0);
        loop {
            let cell = self.cell(text, at);
            (at, lines, found) = (cell.next, lines + cell.lines, found + 1);
            if cell.is_last {
                return (found != columns).then_some((at, lines));
            }
        }
    }

    /// Finds the last complete record of a text that begins with a record.
    pub(super) fn complete_records(&self, text: &[u8]) -> Records {
        let (mut end, mut at) = (0, 0);
        // Start of the current range outside quotes.
        let mut outside = 0;
        while let Some(quote) = text.get(at..).and_then(|rest| memchr(b'"', rest)).map(|offset| at + offset) {
            if !self.opens_cell(text, quote) {
                at = quote + 1;
                continue;
            }
            end = self.last_line(text, outside, quote).unwrap_or(end);
            match closing_quote(text, quote) {
                Some(closing) => (outside, at) = (closing + 1, closing + 1),
                None => return Records { end, open_quote: Some(quote) },
            }
        }
        Records { end: self.last_line(text, outside, text.len()).unwrap_or(end), open_quote: None }
    }

    fn quoted_cell<'a>(&self, text: &'a [u8], quote: usize) -> Cell<'a> {
        let closing = closing_quote(text, quote).unwrap_or(text.len());
        let content = &text[quote + 1..closing];
        let lines = memchr_iter(self.line_end, content).count() as u64;
        let rest_start = (closing + 1).min(text.len());
        let end = self.unquoted_end(text, rest_start);
        let rest = self.trim_end(&text[rest_start..end]);
        let (next, is_last) = self.behind(text, end);
        let bytes = match memchr(b'"', content) {
            None if rest.is_empty() => Cow::Borrowed(content),
            _ => {
                let mut bytes = without_doubled_quotes(content);
                bytes.extend_from_slice(rest);
                bytes.into()
            }
        };
        Cell { bytes, next, is_last, lines }
    }

    /// Whether only blanks precede the quote at `quote` in its cell.
    fn opens_cell(&self, text: &[u8], quote: usize) -> bool {
        match text[..quote].iter().rev().find(|&&byte| !self.is_blank(byte)) {
            None => true,
            Some(&before) => before == self.separator || before == self.line_end,
        }
    }

    /// The offset after the last line break in `start..end`.
    fn last_line(&self, text: &[u8], start: usize, end: usize) -> Option<usize> {
        memrchr(self.line_end, &text[start..end]).map(|offset| start + offset + 1)
    }

    /// The offset of the first separator or line break at or after `start`, or the end of the text.
    #[inline]
    fn unquoted_end(&self, text: &[u8], start: usize) -> usize {
        let (separators, line_ends) = (repeated(self.separator), repeated(self.line_end));
        let mut at = start;
        // Compare eight bytes per step (SWAR): most cells end within the first eight.
        while let Some(eight) = text.get(at..).and_then(|rest| rest.first_chunk()) {
            let eight = u64::from_le_bytes(*eight);
            let found = zero_bytes(eight ^ separators) | zero_bytes(eight ^ line_ends);
            if found != 0 {
                return at + found.trailing_zeros() as usize / 8;
            }
            at += 8;
        }
        let rest = text.get(at..).unwrap_or_default();
        at + rest.iter().position(|&byte| byte == self.separator || byte == self.line_end).unwrap_or(rest.len())
    }

    /// The start of the cell after the one that ends at `end`, and whether it is in another record.
    fn behind(&self, text: &[u8], end: usize) -> (usize, bool) {
        match text.get(end) {
            Some(&byte) => (end + 1, byte != self.separator),
            None => (end, true),
        }
    }

    #[inline]
    fn skip_blanks(&self, text: &[u8], start: usize) -> usize {
        let mut at = start;
        while text.get(at).is_some_and(|&byte| self.is_blank(byte)) {
            at += 1;
        }
        at
    }

    fn trim_end<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[..bytes.iter().rposition(|&byte| !self.is_blank(byte)).map_or(0, |last| last + 1)]
    }

    /// Whether `byte` is a space, tab or CR that is neither the separator nor the line end.
    #[inline]
    fn is_blank(&self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\t' | b'\r') && byte != self.separator && byte != self.line_end
    }
}

/// The offset of the closing quote for the one at `quote`.
fn closing_quote(text: &[u8], quote: usize) -> Option<usize> {
    let mut at = quote + 1;
    loop {
        at += memchr(b'"', text.get(at..)?)?;
        if text.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

fn without_doubled_quotes(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len());
    let mut rest = content;
    while let Some(quote) = memchr(b'"', rest) {
        bytes.extend_from_slice(&rest[..=quote]);
        rest = rest.get(quote + 2..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest);
    bytes
}

fn repeated(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the high bit of each zero byte. Exact up to the lowest zero byte.
#[inline]
fn zero_bytes(eight: u64) -> u64 {
    eight.wrapping_sub(repeated(0x01)) & !eight & repeated(0x80)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GRAMMAR: Grammar = Grammar { separator: b',', line_end: b'\n' };

    /// The cells of all records, and the records' end offsets.
    fn records(text: &[u8]) -> (Vec<Vec<Vec<u8>>>, Vec<usize>) {
        let (mut records, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
        while at < text.len() {
            if let Some(next) = GRAMMAR.blank_line(text, at) {
                at = next;
                continue;
            }
            let mut record = Vec::new();
            loop {
                let cell = GRAMMAR.cell(text, at);
                record.push(cell.bytes.into_owned());
                at = cell.next;
                if cell.is_last {
                    break;
                }
            }
            records.push(record);
            ends.push(at);
        }
        (records, ends)
    }

    /// The csv crate as the oracle. It does not trim blanks around cells.
    fn records_by_csv_crate(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader = csv::ReaderBuilder::new();
        reader.has_headers(false).flexible(true).terminator(csv::Terminator::Any(b'\n'));
        let records = reader.from_reader(text).into_byte_records().map(|record| record.unwrap());
        let cells = records.map(|record| record.iter().map(<[u8]>::to_vec).collect::<Vec<_>>());
        cells.collect()
    }

    /// A naive oracle that reads byte by byte.
    fn records_by_bytes(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let (mut records, mut record, mut at) = (Vec::new(), Vec::new(), 0);
        let is_blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\r');
        while at < text.len() {
            let mut cell = Vec::new();
            while at < text.len() && is_blank(text[at]) {
                at += 1;
            }
            if record.is_empty() && (at == text.len() || text[at] == b'\n') {
                at += 1;
                continue;
            }
            let mut kept = 0;
            if at < text.len() && text[at] == b'"' {
                at += 1;
                while at < text.len() {
                    if text[at] != b'"' {
                        cell.push(text[at]);
                    } else if text.get(at + 1) == Some(&b'"') {
                        cell.push(b'"');
                        at += 1;
                    } else {
                        break;
                    }
                    at += 1;
                }
                at += 1;
                kept = cell.len();
            }
            while at < text.len() && text[at] != b',' && text[at] != b'\n' {
                cell.push(text[at]);
                at += 1;
            }
            while cell.len() > kept && is_blank(cell[cell.len() - 1]) {
                cell.pop();
            }
            record.push(cell);
            let is_last = at >= text.len() || text[at] == b'\n';
            at += 1;
            if is_last {
                records.push(std::mem::take(&mut record));
            }
        }
        // An empty cell follows a final separator.
        if !record.is_empty() {
            record.push(Vec::new());
            records.push(record);
        }
        records
    }

    fn text_of(tokens: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
        let token = proptest::sample::select(tokens);
        proptest::collection::vec(token, 0..60).prop_map(|tokens| tokens.concat().into_bytes())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn cells_are_those_of_the_csv_crate(text in text_of(&["a", "bcdefghijk", ",", ",", "\"", "\"\"", "\n", "\r\n"])) {
            // With LF as the terminator, the csv crate keeps a CR before it. A blank line is then
            // the same as a quoted empty cell.
            let comparable = |records: Vec<Vec<Vec<u8>>>| -> Vec<Vec<Vec<u8>>> {
                let trimmed = |cell: Vec<u8>| cell.strip_suffix(b"\r").map(<[u8]>::to_vec).unwrap_or(cell);
                let trimmed = records.into_iter().map(|record| record.into_iter().map(trimmed).collect::<Vec<_>>());
                trimmed.filter(|record| *record != [b""]).collect()
            };
            let (found, wanted) = (comparable(records(&text).0), comparable(records_by_csv_crate(&text)));
            prop_assert_eq!(found, wanted, "{:?}", String::from_utf8_lossy(&text));
        }

        #[test]
        fn cells_are_those_of_a_byte_by_byte_reader(
            text in text_of(&["a", "bcdefghijk", ",", "\"", " ", "\t", "\r", "\n", "\r\n", ", \"", "\" ,", "é"])
        ) {
            prop_assert_eq!(records(&text).0, records_by_bytes(&text), "{:?}", String::from_utf8_lossy(&text));
        }

        #[test]
        fn records_are_complete_where_they_end(text in text_of(&["a", "bcdefghi", ",", "\"", "\"\"", " ", "\n", "\r\n"])) {
            let (_, mut ends) = records(&text);
            let followed = records_by_bytes(&[text.as_slice(), b"\nZ"].concat());
            if followed.last() != Some(&vec![b"Z".to_vec()]) {
                // The text ends inside an open quote.
                ends.pop();
            }
            for length in 0..=text.len() {
                let found = GRAMMAR.complete_records(&text[..length]);
                // Blank lines may be included: they belong to no record.
                let wanted = ends.iter().rfind(|&&end| end <= length && text[..end].ends_with(b"\n"));
                let wanted = wanted.copied().unwrap_or(0);
                prop_assert!(found.end >= wanted, "{found:?} {wanted} {:?}", String::from_utf8_lossy(&text[..length]));
                let skipped = &text[wanted..found.end];
                prop_assert!(skipped.iter().all(u8::is_ascii_whitespace), "{:?}", String::from_utf8_lossy(&text));
                prop_assert!(found.open_quote.is_none_or(|quote| quote >= found.end && text[quote] == b'"'));
            }
        }
    }

    #[test]
    fn cells_end_at_any_offset_within_eight_bytes() {
        for length in 0..40 {
            let letters = vec![b'x'; length];
            for (end, is_last) in [(b",".as_slice(), false), (b"\n", true), (b"", true)] {
                let text = [letters.as_slice(), end, b"yyyyyyyyyyyy,"].concat();
                let text = if end.is_empty() { &text[..length] } else { &text };
                let cell = GRAMMAR.cell(text, 0);
                assert_eq!((&*cell.bytes, cell.is_last, cell.next), (&*letters, is_last, length + end.len()));
            }
        }
    }
}
