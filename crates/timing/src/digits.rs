//! Integers formatted for readers.

use std::fmt::Display;

/// An integer with digits grouped by three.
///
/// ```
/// assert_eq!(timing::grouped(1_234_567), "1,234,567");
/// assert_eq!(timing::grouped("-1234"), "-1,234");
/// ```
pub fn grouped(integer: impl Display) -> String {
    let text = integer.to_string();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let mut grouped = sign.to_owned();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([-999, -1000].map(grouped), ["-999", "-1,000"]);
    }
}
