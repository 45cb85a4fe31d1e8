//! Converts a cell's bytes to a number, a text or a missing value.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

use crate::DecimalMark;

/// Spellings of a missing value besides the empty cell, ignoring case.
pub(super) const MISSING: [&str; 7] = ["-", "?", "NA", "N/A", "#N/A", "NaN", "null"];

/// Words that mean a missing value among numbers, but a category among texts, ignoring case.
const MISSING_NUMBER: [&str; 9] = ["none", "nil", "missing", "unknown", "n.a.", "not available", "void", "--", "."];

/// What a cell shows about its column's decimal mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// The cell is not a number with either mark.
    NoNumber,
    /// The cell has the same value with either mark.
    Neither,
    /// The cell is a number only with this mark.
    Only(DecimalMark),
    /// 1.250 or 1,250: a fraction with this mark, which the cell contains, and thousands with the
    /// other.
    Either(DecimalMark),
}

/// Whether a cell is empty or a spelling of a missing value.
pub(super) fn is_missing(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    cell.is_empty() || (cell.len() <= 4 && MISSING.iter().any(|text| cell.eq_ignore_ascii_case(text.as_bytes())))
}

/// Whether a text in a column of numbers means a missing number.
pub(super) fn is_missing_number(text: &str) -> bool {
    MISSING_NUMBER.iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Whether a text is infinity or a number beyond the range of f64. In a column of numbers it counts
/// as a number that cannot be used.
pub(super) fn is_infinite(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok_and(f64::is_infinite)
}

/// The cell's value if it is a finite number with the decimal mark `mark`.
pub(crate) fn number(cell: &[u8], mark: DecimalMark) -> Option<f64> {
    plain(cell, mark).or_else(|| not_plain(cell, mark))
}

/// The value of a number that [`plain`] cannot read.
#[cold]
pub(super) fn not_plain(cell: &[u8], mark: DecimalMark) -> Option<f64> {
    if may_be_number(cell) { spelled(&text(cell), mark) } else { None }
}

/// The value of a number without thousands separators.
#[inline(always)]
pub(super) fn plain(cell: &[u8], mark: DecimalMark) -> Option<f64> {
    let cell = cell.trim_ascii();
    let mut pointed = [0; 32];
    let plain = match mark {
        DecimalMark::Point => cell,
        DecimalMark::Comma => match memchr::memchr2(b'.', b',', cell) {
            None => cell,
            Some(comma) => {
                // `spelled` reads longer numbers.
                let pointed = pointed.get_mut(..cell.len()).filter(|_| cell.get(comma) == Some(&b','))?;
                pointed.copy_from_slice(cell);
                pointed[comma] = b'.';
                pointed
            }
        },
    };
    fast_float2::parse::<f64, _>(plain).ok().filter(|value| value.is_finite())
}

/// Whether a cell is a whole number that an f64 cannot represent exactly, such as 9007199254740993.
/// Marks between its digits are thousands separators.
#[cold]
pub(super) fn is_indistinct(cell: &[u8]) -> bool {
    const SHORTEST: usize = 16;
    // A number with a single mark is a fraction, or has at most six digits.
    if cell.len() < SHORTEST || memchr::memchr2_iter(b'.', b',', cell).count() == 1 {
        return false;
    }
    let text = text(cell);
    let whole = [',', '.'].into_iter().find_map(|thousands| {
        let text = text.trim().trim_start_matches(['+', '-', '\u{2212}', '(']).trim_end_matches(')');
        if text.bytes().all(|byte| byte.is_ascii_digit()) { Some(text.into()) } else { ungrouped(text, thousands) }
    });
    let Some(whole) = whole else { return false };
    let digits = whole.trim_start_matches('0');
    // All digits of the nearest f64: an exact decimal expansion.
    digits.len() >= SHORTEST
        && digits.parse().is_ok_and(|nearest: f64| nearest.is_finite() && format!("{nearest:.0}") != digits)
}

/// What a cell shows about its column's decimal mark.
pub(super) fn says(cell: &[u8]) -> Says {
    if let Some(says) = says_simple(cell.trim_ascii()) {
        return says;
    }
    if !may_be_number(cell) {
        return Says::NoNumber;
    }
    let text = text(cell);
    match (spelled(&text, DecimalMark::Point), spelled(&text, DecimalMark::Comma)) {
        (None, None) => Says::NoNumber,
        (Some(_), None) => Says::Only(DecimalMark::Point),
        (None, Some(_)) => Says::Only(DecimalMark::Comma),
        (Some(by_point), Some(by_comma)) if by_point.to_bits() == by_comma.to_bits() => Says::Neither,
        _ if text.contains('.') => Says::Either(DecimalMark::Point),
        _ => Says::Either(DecimalMark::Comma),
    }
}

/// What digits with at most one mark show, as in nearly all numbers; `None` for other cells.
fn says_simple(cell: &[u8]) -> Option<Says> {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let Some(at) = memchr::memchr2(b'.', b',', digits) else {
        return (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some(Says::Neither);
    };
    let (whole, fraction) = (&digits[..at], &digits[at + 1..]);
    let mark = if digits[at] == b'.' { DecimalMark::Point } else { DecimalMark::Comma };
    let is_number = digits.len() > 1 && whole.iter().chain(fraction).all(u8::is_ascii_digit);
    let may_be_thousands = fraction.len() == 3 && (1..=3).contains(&whole.len()) && whole[0] != b'0';
    is_number.then_some(if may_be_thousands { Says::Either(mark) } else { Says::Only(mark) })
}

/// Whether the first byte may begin a number. For most texts, parsing ends here.
fn may_be_number(cell: &[u8]) -> bool {
    // A sign, a parenthesis, or the first byte of U+2212 or of a non-breaking space.
    matches!(cell.trim_ascii_start().first(), Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b',' | b'(' | 0xe2 | 0xc2 | 0xa0))
}

/// The value of a number as people write it: 1,234,567.5, 12,34,567.5, 1'234'567.5, 1 234 567.5 or,
/// with the comma as decimal mark, 1.234.567,5. (50.00) and −50 are negative; 5.– and 5,- have no
/// cents. After a leading zero, a mark does not separate thousands.
pub(super) fn spelled(text: &str, mark: DecimalMark) -> Option<f64> {
    spelled_times(text, mark, 0)
}

/// The length of one or two dashes that mean no cents, as in 5.– or 5,--; 0 if there are none.
pub(super) fn dashes(text: &str) -> usize {
    let length = text.find(|character: char| !"-\u{2013}\u{2014}".contains(character)).unwrap_or(text.len());
    if text[..length].chars().count() <= 2 { length } else { 0 }
}

/// The value of a number as people write it, times 10 to the power of `power`.
pub(super) fn spelled_times(text: &str, mark: DecimalMark, power: i32) -> Option<f64> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let unsigned = inner.map_or(text, str::trim);
    let (is_negative, digits) = match unsigned.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (true, rest),
        None => (inner.is_some(), unsigned.strip_prefix('+').unwrap_or(unsigned)),
    };
    if inner.is_some() && digits.len() < unsigned.len() {
        return None;
    }
    let (decimal, other) = match mark {
        DecimalMark::Point => ('.', ','),
        DecimalMark::Comma => (',', '.'),
    };
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => digits.split_at(at),
        None => (digits, ""),
    };
    let (whole, fraction) = mantissa.split_once(decimal).unwrap_or((mantissa, ""));
    let has_dashes = !fraction.is_empty() && !whole.is_empty() && dashes(fraction) == fraction.len();
    let fraction = if has_dashes { "" } else { fraction };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_grouped = !is_digits(whole);
    let whole = if is_grouped { ungrouped(whole, other)? } else { Cow::Borrowed(whole) };
    if !is_digits(fraction)
        || whole.len() + fraction.len() == 0
        || (is_grouped || power != 0 || has_dashes) && !exponent.is_empty()
    {
        return None;
    }
    let exponent = if power == 0 { exponent.into() } else { Cow::Owned(format!("e{power}")) };
    let sign = if is_negative { "-" } else { "" };
    let value: f64 = fast_float2::parse(format!("{sign}{whole}.{fraction}{exponent}")).ok()?;
    value.is_finite().then_some(value)
}

/// The digits of a whole number with `mark`, an apostrophe or a space as its thousands separator.
/// Indian numbers have pairs before the last three digits.
fn ungrouped(whole: &str, mark: char) -> Option<Cow<'_, str>> {
    let kind = |character: char| match character {
        ' ' | '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => Some(' '),
        '\'' | '\u{2019}' => Some('\''),
        _ => (character == mark).then_some(mark),
    };
    let mut separators = whole.chars().filter(|character| !character.is_ascii_digit()).map(kind);
    let separator = separators.next()??;
    if !separators.all(|other| other == Some(separator)) {
        return None;
    }
    let groups: Vec<&str> = whole.split(|character: char| !character.is_ascii_digit()).collect();
    let [first, middle @ .., last] = &groups[..] else { return None };
    let are_long = |length: usize| middle.iter().all(|group| group.len() == length);
    let is_first = |longest: usize| (1..=longest).contains(&first.len()) && !first.starts_with('0');
    let is_indian = separator == ',' && are_long(2) && is_first(2);
    let is_number = last.len() == 3 && (are_long(3) && is_first(3) || is_indian);
    is_number.then(|| groups.concat().into())
}

/// A cell as text. Invalid UTF-8 is decoded as Windows-1252, where every byte is a character.
pub(super) fn text(cell: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(cell) {
        Ok(text) => text.into(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(cell).0,
    }
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
            assert_eq!(number(cell.as_bytes(), DecimalMark::Point), wanted, "{cell:?}");
        }
    }

    #[test]
    fn numbers_with_a_decimal_comma() {
        let cases = [
            ("1,5", Some(1.5)),
            ("-0,25e1", Some(-2.5)),
            ("1.5", None),
            ("1.250", Some(1250.0)),
            ("0.125", None),
            ("1.234,5", Some(1234.5)),
            ("1.234.567,25", Some(1_234_567.25)),
            ("1 234,50", Some(1234.5)),
            ("1'234,5", Some(1234.5)),
            ("1,234.5", None),
            ("1,234,567", None),
            ("1.23.456", None),
            ("1.250,-", Some(1250.0)),
            ("50,--", Some(50.0)),
            ("50.-", None),
            (",-", None),
            ("50,---", None),
            (",", None),
            ("1000000000000000000000000000000000,5", Some(1e33)),
        ];
        for (cell, wanted) in cases {
            assert_eq!(number(cell.as_bytes(), DecimalMark::Comma), wanted, "{cell:?}");
        }
    }

    #[test]
    fn parentheses_and_a_typographic_minus_are_negative() {
        for (cell, wanted) in [
            ("(50.00)", Some(-50.0)),
            ("( 1,234.5 )", Some(-1234.5)),
            ("\u{2212}7.5", Some(-7.5)),
            ("(-5)", None),
            ("(5", None),
            ("5)", None),
            ("()", None),
        ] {
            assert_eq!(number(cell.as_bytes(), DecimalMark::Point), wanted, "{cell:?}");
        }
    }

    #[test]
    fn a_cell_shows_its_decimal_mark_unless_both_give_a_number() {
        use DecimalMark::{Comma, Point};
        for (cell, wanted) in [
            ("12", Says::Neither),
            ("1 234", Says::Neither),
            ("1'234", Says::Neither),
            ("1e5", Says::Neither),
            ("1.5", Says::Only(Point)),
            ("0.125", Says::Only(Point)),
            ("1,234,567", Says::Only(Point)),
            ("12,34,567", Says::Only(Point)),
            ("1,234.50", Says::Only(Point)),
            ("1234.567", Says::Only(Point)),
            ("1.250", Says::Either(Point)),
            ("-1.250", Says::Either(Point)),
            ("1,5", Says::Only(Comma)),
            ("0,125", Says::Only(Comma)),
            ("1.234.567", Says::Only(Comma)),
            ("1 234,50", Says::Only(Comma)),
            ("(1,250)", Says::Either(Comma)),
            ("1,2,3", Says::NoNumber),
            ("a", Says::NoNumber),
            ("", Says::NoNumber),
        ] {
            assert_eq!(says(cell.as_bytes()), wanted, "{cell:?}");
        }
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
            ("0,125", None),
            ("012,345", None),
            ("12,34,567.5", Some(1_234_567.5)),
            ("1,23,456", Some(123_456.0)),
            ("123,45,678", None),
            ("1\u{2009}234", Some(1234.0)),
            ("1\u{2007}234.5", Some(1234.5)),
            ("1\u{2019}234", Some(1234.0)),
        ];
        for (cell, wanted) in cases {
            assert_eq!(number(cell.as_bytes(), DecimalMark::Point), wanted, "{cell:?}");
        }
    }

    #[test]
    fn whole_numbers_beyond_2_53_are_indistinct_unless_an_f64_keeps_their_digits() {
        for cell in [
            "9007199254740993",
            "-9007199254740993",
            "12345678901234567890",
            "9,007,199,254,740,993",
            "(9007199254740993)",
        ] {
            assert!(is_indistinct(cell.as_bytes()), "{cell}");
        }
        for cell in [
            "9007199254740992",
            "9007199254740994",
            "100000000000000000000",
            "0000000000000000007",
            "0.1234567890123456789",
            "9007199254740993.5",
            "1.2379646270918914e300",
            "2025-01-01 00:00:00",
            "abcdefghijklmnopqrst",
        ] {
            assert!(!is_indistinct(cell.as_bytes()), "{cell}");
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
    fn a_no_break_space_of_windows_1252_separates_thousands() {
        assert_eq!(number(b"1\xa0234,50", DecimalMark::Comma), Some(1234.5));
    }

    #[test]
    fn text_is_utf8_or_windows_1252() {
        assert_eq!(text("Größe €".as_bytes()), "Größe €");
        assert_eq!(text(b"Gr\xf6\xdfe \x80"), "Größe €");
    }
}
