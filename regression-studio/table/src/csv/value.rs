//! Conversion of a cell's bytes to a number, a text or a missing value.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

/// Spellings of a missing value besides the empty cell, ignoring case.
pub(super) const MISSING: [&str; 7] = ["-", "?", "NA", "N/A", "#N/A", "NaN", "null"];

/// The decimal marks of a file's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decimals {
    /// 1234.5
    Point,
    /// 1234.5 or 1234,5: in files separated by semicolons.
    PointOrComma,
}

/// Whether a cell is empty or a spelling of a missing value.
pub(super) fn is_missing(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    cell.is_empty() || (cell.len() <= 4 && MISSING.iter().any(|text| cell.eq_ignore_ascii_case(text.as_bytes())))
}

/// The cell's value if it is a finite number.
#[inline]
pub(super) fn number(cell: &[u8], decimals: Decimals) -> Option<f64> {
    let cell = cell.trim_ascii();
    match fast_float2::parse::<f64, _>(cell) {
        Ok(value) => value.is_finite().then_some(value),
        // In texts, this ends at the first byte.
        Err(_) if !matches!(cell.first(), Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b',')) => None,
        Err(_) if decimals == Decimals::PointOrComma => with_comma(cell).or_else(|| grouped(cell, decimals)),
        Err(_) => grouped(cell, decimals),
    }
}

/// The value of a number with its thousands separated: 1,234,567.5, 1'234'567.5, 1 234 567.5 or, where the comma may be
/// the decimal mark, 1.234.567,5.
fn grouped(cell: &[u8], decimals: Decimals) -> Option<f64> {
    // A space that does not break a line, in UTF-8.
    const NO_BREAK: [&str; 2] = ["\u{a0}", "\u{202f}"];
    let text = NO_BREAK.iter().fold(std::str::from_utf8(cell).ok()?.to_owned(), |text, space| text.replace(space, " "));
    let unsigned = text.trim_start_matches(['+', '-']);
    let separator = unsigned.chars().find(|character| !character.is_ascii_digit())?;
    let mark = match separator {
        ',' | '\'' | ' ' => '.',
        '.' if decimals == Decimals::PointOrComma => ',',
        _ => return None,
    };
    let (whole, fraction) = unsigned.split_once(mark).unwrap_or((unsigned, ""));
    let mut groups = whole.split(separator);
    let is_group = |group: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_number = text.len() - unsigned.len() <= 1
        && is_group(groups.next()?, 1..=3)
        && groups.all(|group| is_group(group, 3..=3))
        && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let sign = &text[..text.len() - unsigned.len()];
    let plain = is_number.then(|| format!("{sign}{}.{fraction}", whole.replace(separator, "")))?;
    fast_float2::parse(plain).ok()
}

/// A cell as text. Invalid UTF-8 is decoded as Windows-1252, in which every byte is a character.
pub(super) fn text(cell: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(cell) {
        Ok(text) => text.into(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(cell).0,
    }
}

/// The value of a number with one comma and no point.
fn with_comma(cell: &[u8]) -> Option<f64> {
    let comma = cell.iter().position(|&byte| byte == b',').filter(|_| !cell.contains(&b'.'))?;
    let mut pointed = cell.to_vec();
    pointed[comma] = b'.';
    fast_float2::parse(pointed).ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_span_the_cell() {
        let cases = [
            ("112.00", Some(112.0)),
            (" -1.5e3\t", Some(-1500.0)),
            ("+7", Some(7.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("0.1", Some(0.1)),
            ("123456789012345678901234567890", Some(1.234_567_890_123_456_8e29)),
            ("4.9e-324", Some(5e-324)),
            ("1e999", None),
            ("inf", None),
            ("NaN", None),
            ("1 2", None),
            ("1,5", None),
            ("12a", None),
            ("0x10", None),
            ("-", None),
            ("", None),
            ("1_000", None),
            ("１", None),
        ];
        for (cell, wanted) in cases {
            assert_eq!(number(cell.as_bytes(), Decimals::Point), wanted, "{cell:?}");
        }
    }

    #[test]
    fn a_comma_is_a_decimal_mark_in_semicolon_files_only() {
        let number = |cell: &str| number(cell.as_bytes(), Decimals::PointOrComma);
        assert_eq!((number("1,5"), number("-0,25e1"), number("1.5")), (Some(1.5), Some(-2.5), Some(1.5)));
        assert_eq!((number("1,234,567"), number("1.234,5"), number(",")), (Some(1_234_567.0), Some(1234.5), None));
        assert_eq!(
            (number("1,234.5"), number("1.234.567,25"), number("1.23.456")),
            (Some(1234.5), Some(1_234_567.25), None)
        );
    }

    #[test]
    fn thousands_are_separated_in_groups_of_three() {
        let cases = [
            ("1,250", Some(1250.0)),
            ("-12,345,678.50", Some(-12_345_678.5)),
            ("+1'234", Some(1234.0)),
            ("12 345.5", Some(12_345.5)),
            ("12\u{a0}345", Some(12_345.0)),
            ("1\u{202f}234\u{202f}567", Some(1_234_567.0)),
            ("1,25", None),
            ("1234,567", None),
            ("1,234,56", None),
            ("1,234 567", None),
            ("1,,234", None),
            (",234", None),
            ("--1,234", None),
            ("1,234.5x", None),
            ("1,234e3", None),
            ("1.234.567", None),
        ];
        for (cell, wanted) in cases {
            assert_eq!(number(cell.as_bytes(), Decimals::Point), wanted, "{cell:?}");
        }
    }

    #[test]
    fn the_listed_words_are_missing_and_others_are_not() {
        for cell in MISSING.iter().flat_map(|text| [text.to_string(), text.to_lowercase(), format!(" {text} ")]) {
            assert!(is_missing(cell.as_bytes()), "{cell:?}");
        }
        assert!(is_missing(b"") && is_missing(b"  \t"));
        assert!(["0", "--", "none", "nano", "nullo", "x"].iter().all(|cell| !is_missing(cell.as_bytes())));
    }

    #[test]
    fn text_is_utf8_or_windows_1252() {
        assert_eq!(text("Größe €".as_bytes()), "Größe €");
        assert_eq!(text(b"Gr\xf6\xdfe \x80"), "Größe €");
    }
}
