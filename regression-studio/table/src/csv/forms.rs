//! Numbers in a form that a whole column shares: 5K, 1:23:45, '123, ="00123", and mixed decimal
//! marks.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::affix::Affix;
use super::value;
use crate::DecimalMark;

/// The form of a column's numbers that are not plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Numbers with the other decimal mark. Each is a number with only one of the marks.
    OtherMark,
    /// 5K or 1.2 million.
    Magnitude,
    /// '123 or ="00123", as spreadsheets mark texts.
    Marked,
    /// 1:23:45, or 12:30 for minutes and seconds.
    Duration,
}

/// A column's texts, read as numbers of a form.
pub(super) struct Formed {
    pub(super) form: Form,
    /// Each text's number.
    pub(super) values: Vec<Option<f64>>,
    /// The index of an example text with this form.
    pub(super) example: usize,
    /// The currency or unit that every number has in addition to its form.
    pub(super) affix: Affix,
}

/// Facts about a column besides its texts that may have a form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    pub(super) mark: DecimalMark,
    /// Whether numbers with the other mark are not allowed.
    pub(super) keeps_mark: bool,
    /// Cells that are plain numbers.
    pub(super) numbers: usize,
}

/// Words and letters for powers of ten, in lower case. A single letter may be a unit: [`are_magnitudes`] decides.
const MAGNITUDES: [(&str, i32); 24] = [
    ("k", 3),
    ("thousand", 3),
    ("tsd", 3),
    ("tsd.", 3),
    ("m", 6),
    ("mm", 6),
    ("mn", 6),
    ("mln", 6),
    ("mln.", 6),
    ("mio", 6),
    ("mio.", 6),
    ("million", 6),
    ("millions", 6),
    ("b", 9),
    ("bn", 9),
    ("bln", 9),
    ("mrd", 9),
    ("mrd.", 9),
    ("mia", 9),
    ("mia.", 9),
    ("billion", 9),
    ("billions", 9),
    ("t", 12),
    ("trillion", 12),
];

impl Formed {
    /// Reads the texts as numbers of the first form that all of them share, except plain numbers
    /// and missing values. Without plain numbers, it is enough that most cells have the form.
    /// `counts` gives the number of cells with each text, `known` the values of plain numbers.
    pub(super) fn of(texts: &[&str], counts: &[usize], known: &[Option<f64>], column: &Column) -> Option<Self> {
        [Form::OtherMark, Form::Magnitude, Form::Marked, Form::Duration]
            .into_iter()
            .find_map(|form| Self::of_form(form, texts, counts, known, column))
    }

    fn of_form(form: Form, texts: &[&str], counts: &[usize], known: &[Option<f64>], column: &Column) -> Option<Self> {
        let (mut formed, mut others, mut example) = (0, 0, None);
        let mut affix: Option<Affix> = None;
        let mut suffixes = BTreeSet::new();
        let mut durations = Durations::default();
        // 3A together with 5K: these are codes.
        let mut are_codes = false;
        let mut values = known.to_vec();
        for (index, ((text, count), value)) in texts.iter().zip(counts).zip(&mut values).enumerate() {
            if value.is_some() || value::is_missing_number(text) {
                continue;
            }
            let mut has_form = true;
            let found = match form {
                _ if !text.bytes().any(|byte| byte.is_ascii_digit()) => None,
                Form::OtherMark => value::spelled(text, column.mark.other()).filter(|_| {
                    // 1.250 and 1,250 do not show which mark they use.
                    matches!(value::says(text.as_bytes()), value::Says::Only(_))
                }),
                Form::Magnitude => scaled(text, column.mark).and_then(|scaled| {
                    has_form = !scaled.suffix.is_empty();
                    suffixes.insert(scaled.suffix);
                    let known = affix.get_or_insert_with(|| scaled.affix.clone());
                    (*known == scaled.affix).then_some(scaled.value)
                }),
                Form::Marked => unmarked(text).and_then(|inner| value::spelled(inner, column.mark)),
                Form::Duration => duration(text).inspect(|_| durations.add(text)),
            };
            match found {
                Some(_) => formed += count,
                None => others += count,
            }
            are_codes |= found.is_none() && text.starts_with(|first: char| first.is_ascii_digit());
            if found.is_some() && has_form && example.is_none() {
                example = Some(index);
            }
            *value = found;
        }
        let is_whole = if column.numbers > 0 { others == 0 } else { formed > others };
        let affix = affix.unwrap_or_default();
        let is_form = match form {
            Form::OtherMark => !column.keeps_mark && others == 0 && column.numbers > 0,
            Form::Magnitude => {
                !are_codes
                    && (affix == Affix::default() || column.numbers == 0)
                    && are_magnitudes(&suffixes, &affix, column)
            }
            Form::Marked => true,
            Form::Duration => column.numbers == 0 && durations.are_one_form(),
        };
        let example = example.filter(|_| is_whole && is_form)?;
        Some(Self { form, values, example, affix })
    }
}

/// The number in a text as written, without spreadsheet marks, power of ten, currency or unit;
/// empty if there is none.
pub(super) fn bare(text: &str) -> Cow<'_, str> {
    if let Some(inner) = unmarked(text) {
        return inner.into();
    }
    let (rest, _) = without_magnitude(text).unwrap_or((text.to_owned(), String::new()));
    match Affix::part(&rest) {
        Some((_, number)) => number.into(),
        None if rest.len() < text.len() => rest.into(),
        None => Cow::Borrowed(""),
    }
}

/// The content of a text that a spreadsheet marks as one: '123, or ="00123" as a formula.
pub(super) fn unmarked(text: &str) -> Option<&str> {
    let text = text.trim();
    let formula = text.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"'));
    formula.or_else(|| text.strip_prefix('\'').filter(|rest| !rest.ends_with('\'')))
}

/// A number with a power of ten.
struct Scaled {
    value: f64,
    affix: Affix,
    /// The word or letter for the power of ten, as written; empty if there is none.
    suffix: String,
}

/// A number with a power of ten, or with only a currency.
fn scaled(text: &str, mark: DecimalMark) -> Option<Scaled> {
    let (rest, suffix) = without_magnitude(text).unwrap_or((text.to_owned(), String::new()));
    let power = MAGNITUDES.iter().find(|(word, _)| *word == suffix.to_lowercase()).map_or(0, |(_, power)| *power);
    let (affix, number) = match Affix::part(&rest) {
        Some(parts) => parts,
        None if suffix.is_empty() => return None,
        None => (Affix::default(), rest),
    };
    // Other units are handled as units of a column.
    let is_currency = affix.behind.is_empty() || super::affix::is_currency(&affix.behind);
    let value = value::spelled_times(&number, mark, power)?;
    is_currency.then_some(Scaled { value, affix, suffix })
}

/// A text without the power of ten after its digits, and the power as written.
fn without_magnitude(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    let digits = text.rfind(|character: char| character.is_ascii_digit())? + 1;
    let (number, behind) = text.split_at(digits);
    let word = behind.trim_start();
    let length = word.find(|character: char| !character.is_alphabetic() && character != '.').unwrap_or(word.len());
    let (word, rest) = word.split_at(length);
    let is_magnitude = MAGNITUDES.iter().any(|(magnitude, _)| *magnitude == word.to_lowercase());
    // A letter after a space is a unit.
    let is_letter = word.len() == 1 && behind.starts_with(char::is_whitespace);
    (is_magnitude && !is_letter).then(|| (format!("{number}{rest}"), word.to_owned()))
}

/// Whether the suffixes of a column are powers of ten. With a currency they are. Otherwise m, B and
/// T may be units, unless there are also thousands or millions. K alone may be kelvin.
fn are_magnitudes(suffixes: &BTreeSet<String>, affix: &Affix, column: &Column) -> bool {
    let given = || suffixes.iter().filter(|suffix| !suffix.is_empty());
    let name = column.name.to_lowercase();
    let is_temperature = given().all(|suffix| suffix == "K") && ["temp", "kelvin"].iter().any(|of| name.contains(of));
    let is_certain = |suffix: &str| matches!(suffix, "k" | "K" | "M") || suffix.len() > 2;
    let may_be = |suffix: &String| match suffix.as_str() {
        // Meters, millimeters and tonnes.
        "m" | "mm" | "MM" | "t" | "b" => false,
        suffix => is_certain(suffix) || suffix.len() == 2 || given().any(|other| is_certain(other)),
    };
    given().next().is_some() && !is_temperature && (*affix != Affix::default() || given().all(may_be))
}

/// The seconds of a duration: 1:23:45, 12:30 or 12:30.5 for minutes and seconds, "0 days 00:37:34".
/// Each may have a sign.
fn duration(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let whole = |text: &str, longest: usize| -> Option<f64> {
        let is_number = (1..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { text.parse().ok() } else { None }
    };
    let (days, clock) = match text.split_once(" day") {
        Some((days, rest)) => {
            let rest = rest.strip_prefix('s').unwrap_or(rest);
            (whole(days, 6)?, rest.strip_prefix(',').unwrap_or(rest).strip_prefix(' ')?.trim_start())
        }
        None => (0.0, text),
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let (hours, minutes, seconds) = match parts[..] {
        [hours, minutes, seconds] => (whole(hours, 6)?, minutes, seconds),
        [minutes, seconds] if days == 0.0 => (0.0, minutes, seconds),
        _ => return None,
    };
    let longest = if parts.len() == 3 { 2 } else { 6 };
    let minutes = whole(minutes, longest).filter(|&of| parts.len() == 2 || of < 60.0 && minutes.len() == 2)?;
    let (seconds, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
    let is_fraction = whole(fraction, 12).is_some();
    let seconds = whole(seconds, 2).filter(|&of| of < 60.0 && seconds.len() == 2 && is_fraction)?;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some(sign * (((days * 24.0 + hours) * 60.0 + minutes) * 60.0 + seconds + fraction))
}

/// The forms found in a column's durations.
#[derive(Default)]
struct Durations {
    with_hours: bool,
    /// 12:30, which may also be a time of day.
    without_hours: bool,
    /// 59:10, which is not a time of day.
    has_many_minutes: bool,
}

impl Durations {
    fn add(&mut self, text: &str) {
        let has_hours = text.matches(':').count() == 2;
        self.with_hours |= has_hours;
        self.without_hours |= !has_hours;
        let first = text.trim().split(':').next().and_then(|first| first.parse::<u32>().ok());
        self.has_many_minutes |= !has_hours && first.is_some_and(|first| first >= 24);
    }

    /// Whether the durations share a form: with 1:23:45 in the same column, 12:30 is unclear unless
    /// minutes such as 59:10 occur.
    fn are_one_form(&self) -> bool {
        !(self.with_hours && self.without_hours) || self.has_many_minutes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_seconds() {
        for (text, wanted) in [
            ("1:23:45", Some(5025.0)),
            ("0:37:34", Some(2254.0)),
            ("12:30", Some(750.0)),
            ("75:05.5", Some(4505.5)),
            ("-0:00:10", Some(-10.0)),
            ("0 days 00:37:34", Some(2254.0)),
            ("1 day, 2:03:04", Some(93_784.0)),
            ("1:5", None),
            ("1:60:00", None),
            ("1:00:60", None),
            ("16:9", None),
            ("1:2:3:4", None),
            ("a:30", None),
            ("12:30 pm", None),
            ("3 days", None),
        ] {
            assert_eq!(duration(text), wanted, "{text}");
        }
    }

    #[test]
    fn powers_of_ten_are_exact() {
        for (text, wanted) in [
            ("5K", 5000.0),
            ("619M", 619e6),
            ("2.3M", 2.3e6),
            ("1.1 million", 1.1e6),
            ("1,200k", 1.2e6),
            ("-4.35B", -4.35e9),
            ("$5.2M", 5.2e6),
            ("5 Mio. €", 5e6),
            ("CHF 3 Mrd", 3e9),
        ] {
            assert_eq!(scaled(text, DecimalMark::Point).map(|scaled| scaled.value), Some(wanted), "{text}");
        }
        for text in ["5 K", "K5", "5 km", "5Kx", "M", "3A", "5 m2"] {
            assert!(scaled(text, DecimalMark::Point).is_none_or(|scaled| scaled.suffix.is_empty()), "{text}");
        }
    }

    #[test]
    fn marks_of_spreadsheets_are_removed() {
        assert_eq!(
            ["'123", "=\"00123\"", "'5'", "=5", "123"].map(unmarked),
            [Some("123"), Some("00123"), None, None, None]
        );
    }
}
