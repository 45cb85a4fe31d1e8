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
        Err(_) if decimals == Decimals::PointOrComma => with_comma(cell),
        Err(_) => None,
    }
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
        assert_eq!((number("1,234,567"), number("1.234,5"), number("1,234.5"), number(",")), (None, None, None, None));
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
