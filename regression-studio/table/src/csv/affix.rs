//! Currencies and units: the text that all numbers of a column have before or after them.

use super::value;
use crate::{DecimalMark, Texts};

/// The text before and after a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Affix {
    pub(super) before: String,
    pub(super) behind: String,
}

/// Codes and names of currencies, in upper case; they may also follow the number.
const CURRENCIES: [&str; 30] = [
    "USD", "EUR", "GBP", "JPY", "CNY", "CHF", "INR", "AUD", "CAD", "NZD", "BRL", "RUB", "KRW", "SEK", "NOK", "DKK",
    "PLN", "CZK", "HUF", "TRY", "ZAR", "MXN", "SGD", "HKD", "ILS", "THB", "RS", "RS.", "KR", "KR.",
];
/// Units that may follow a number directly. Others need a space in between, since 3A is not a
/// measurement.
const UNITS: [&str; 60] = [
    "%", "‰", "°", "°C", "°F", "K", "kg", "g", "mg", "µg", "t", "lb", "lbs", "oz", "km", "m", "cm", "mm", "µm", "nm",
    "mi", "ft", "in", "yd", "\"", "'", "m2", "m²", "m3", "m³", "km2", "km²", "ft2", "ft²", "sqft", "sqm", "ha", "l",
    "L", "ml", "mL", "cl", "h", "hr", "hrs", "min", "s", "ms", "kW", "kWh", "W", "V", "Hz", "MHz", "GHz", "MB", "GB",
    "px", "km/h", "mph",
];
/// Maximum length of the text after a number, in characters.
const LONGEST: usize = 16;

impl Affix {
    /// Splits a text into an affix and the number in it, as text. `None` if there is no affix or no
    /// number.
    pub(super) fn part(text: &str) -> Option<(Self, String)> {
        let text = text.trim();
        let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let (outer, rest) = sign(inner.unwrap_or(text).trim());
        let before = rest.find(|character: char| character.is_ascii_digit() || "+-\u{2212}.,(".contains(character))?;
        // The period of an abbreviation.
        let is_abbreviated = rest[before..].starts_with('.') && rest[..before].ends_with(char::is_alphabetic);
        let (before, rest) = rest.split_at(before + usize::from(is_abbreviated));
        let (inner_sign, rest) = sign(rest.trim_start());
        let is_part = |character: char| {
            character.is_ascii_digit() || " \u{a0}\u{2007}\u{2009}\u{202f}.,'\u{2019}".contains(character)
        };
        let mut end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        // Amounts without cents, as in 5.– or 5,-.
        let dashes = if rest[..end].ends_with(['.', ',']) { value::dashes(&rest[end..]) } else { 0 };
        end += dashes;
        // Inches and feet.
        end = if dashes > 0 {
            end
        } else {
            rest[..end].trim_end_matches(|character: char| !character.is_ascii_digit() && character != '.').len()
        };
        let (digits, behind) = rest.split_at(end);
        let is_direct = !behind.starts_with(char::is_whitespace);
        let (before, behind) = (before.trim(), behind.trim());
        let is_affix = is_currency_or_empty(before)
            && (behind.is_empty() || is_currency_or_empty(behind) || is_unit(behind, is_direct))
            && before.len() + behind.len() > 0;
        let is_negative = match (inner.is_some(), outer, inner_sign) {
            (true, "", "") => true,
            (false, "", sign) | (false, sign, "") => sign == "-",
            _ => return None,
        };
        let minus = if is_negative { "-" } else { "" };
        let affix = Self { before: before.to_owned(), behind: behind.to_owned() };
        is_affix.then(|| (affix, format!("{minus}{digits}")))
    }

    /// The affix that every number of a column has, and the number in each text. `None` if the
    /// texts have different affixes, or most cells have none. `counts` gives the number of cells
    /// with each text.
    pub(super) fn of_column(texts: &Texts, counts: &[usize], mark: DecimalMark) -> Option<(Self, Vec<Option<f64>>)> {
        let (mut found, mut with): (Option<Self>, usize) = (None, 0);
        let mut numbers = Vec::with_capacity(texts.len());
        for (text, count) in texts.iter().zip(counts) {
            let part = Self::part(text).and_then(|(affix, number)| Some((affix, value::spelled(&number, mark)?)));
            numbers.push(part.as_ref().map(|part| part.1));
            let Some((affix, _)) = part else { continue };
            with += count;
            if found.get_or_insert_with(|| affix.clone()) != &affix {
                return None;
            }
        }
        let total: usize = counts.iter().sum();
        found.filter(|_| 2 * with > total).map(|affix| (affix, numbers))
    }

    /// The affix as the user sees it.
    pub(super) fn shown(&self) -> String {
        match (self.before.is_empty(), self.behind.is_empty()) {
            (_, true) => self.before.clone(),
            (true, false) => self.behind.clone(),
            (false, false) => format!("{} … {}", self.before, self.behind),
        }
    }
}

/// The sign before a text, and the rest.
fn sign(text: &str) -> (&'static str, &str) {
    match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => ("-", rest.trim_start()),
        None => text.strip_prefix('+').map_or(("", text), |rest| ("+", rest.trim_start())),
    }
}

/// Whether a text is a currency's sign, code or name.
pub(super) fn is_currency(text: &str) -> bool {
    !text.is_empty() && is_currency_or_empty(text)
}

fn is_currency_or_empty(text: &str) -> bool {
    // One of Unicode's currency symbols, alone or after letters as in US$.
    const SIGNS: [char; 12] = ['$', '€', '£', '¥', '₹', '₩', '₽', '₺', '₪', '₫', '฿', '¢'];
    let letters = text.trim_end_matches(SIGNS);
    let has_sign = letters.len() < text.len();
    let is_short = letters.len() <= 3 && letters.bytes().all(|byte| byte.is_ascii_uppercase());
    text.is_empty() || has_sign && is_short || CURRENCIES.contains(&&*text.to_uppercase())
}

fn is_unit(text: &str, is_direct: bool) -> bool {
    let without_power = text.strip_suffix(['2', '3']).unwrap_or(text);
    let is_word = text.starts_with(|first: char| first.is_alphabetic() || "%‰°µ".contains(first))
        && text.chars().count() <= LONGEST
        && !without_power.contains(|character: char| character.is_ascii_digit() || ":+;,".contains(character));
    if is_direct { UNITS.contains(&text) } else { is_word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_a_currency_or_a_unit() {
        for (text, before, behind, number) in [
            ("$1,200", "$", "", "1,200"),
            ("-$50", "$", "", "-50"),
            ("$-50", "$", "", "-50"),
            ("($50.00)", "$", "", "-50.00"),
            ("US$ 5", "US$", "", "5"),
            ("USD 300", "USD", "", "300"),
            ("Rs. 5", "Rs.", "", "5"),
            ("1.200,50 €", "", "€", "1.200,50"),
            ("300 EUR", "", "EUR", "300"),
            ("CHF 32'190.–", "CHF", "", "32'190.–"),
            ("1.250,- €", "", "€", "1.250,-"),
            ("12.5%", "", "%", "12.5"),
            ("12.5 %", "", "%", "12.5"),
            ("\u{2212}3%", "", "%", "-3"),
            ("39.4 m2", "", "m2", "39.4"),
            ("39.4m²", "", "m²", "39.4"),
            ("5 rooms", "", "rooms", "5"),
            ("5'", "", "'", "5"),
            ("1 234,5 km/h", "", "km/h", "1 234,5"),
        ] {
            let affix = Affix { before: before.to_owned(), behind: behind.to_owned() };
            assert_eq!(Affix::part(text), Some((affix, number.to_owned())), "{text:?}");
        }
    }

    #[test]
    fn names_codes_and_dates_have_none() {
        let texts = "12|1,5|3A|c01|A1|EQ|-|8:05|2025-01-31|31 Jan 2025|12 Main St 5|(5|--$5|$|1st|10-20|Room 5|";
        for text in texts.split('|') {
            let number = Affix::part(text).and_then(|(_, number)| value::spelled(&number, DecimalMark::Point));
            assert_eq!(number, None, "{text:?}");
        }
    }
}
