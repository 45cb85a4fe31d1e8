//! Formats numbers and texts for notes and errors.

use std::borrow::Cow;

/// Maximum length of a text that is shown in full, in characters.
const LONGEST: usize = 60;

/// The shortest decimal form that parses back to the same number. It has an exponent if its
/// absolute value is below 10⁻⁵, or at least 10¹⁶.
pub fn decimal(value: f64) -> String {
    match value.abs() {
        size if size >= 1e16 || (size > 0.0 && size < 1e-5) => format!("{value:e}"),
        _ => value.to_string(),
    }
}

/// Whether two texts differ at most by case and blanks.
pub fn are_alike(a: &str, b: &str) -> bool {
    let folded = |text: &str| text.to_lowercase().split_whitespace().collect::<String>();
    folded(a) == folded(b)
}

/// A text shortened to at most 60 characters. A longer one ends in "…".
pub fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some(_) => text.chars().take(LONGEST - 1).chain(['…']).collect::<String>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_large_and_very_small_numbers_have_an_exponent() {
        let values = [0.0, 9.5e15, 1e16, -1.5e16, 1e-5, 9.5e-6, -2e-300];
        assert_eq!(values.map(decimal), ["0", "9500000000000000", "1e16", "-1.5e16", "0.00001", "9.5e-6", "-2e-300"]);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let longest = "é".repeat(LONGEST);
        assert_eq!(shortened(&longest), longest);
        let cut = shortened(&(longest + "x")).into_owned();
        assert_eq!((cut.chars().count(), cut.ends_with("é…")), (LONGEST, true));
    }
}
