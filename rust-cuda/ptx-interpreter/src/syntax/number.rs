//! Number literals (PTX ISA 4.5).

use super::Immediate;

/// Description of the literals that `parse_number` accepts, for errors.
pub(super) const NUMBER: &str = "a number of at most 64 bits, such as 10, 0x1F, 0f3F800000 or 1.5";

/// Parses an unsigned literal. `None` if `text` is not a literal or is too large.
pub(super) fn parse_number(text: &str) -> Option<Immediate> {
    let after = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
    if let Some(digits) = after(["0f", "0F"]) {
        return (digits.len() == 8).then(|| digits_of(digits, 16)).flatten().map(|bits| Immediate::F32(bits as u32));
    }
    if let Some(digits) = after(["0d", "0D"]) {
        return (digits.len() == 16).then(|| digits_of(digits, 16)).flatten().map(Immediate::F64);
    }
    let integer = text.strip_suffix('U').unwrap_or(text);
    let bits = if let Some(digits) = after(["0x", "0X"]) {
        digits_of(digits.strip_suffix('U').unwrap_or(digits), 16)
    } else if let Some(digits) = after(["0b", "0B"]) {
        digits_of(digits.strip_suffix('U').unwrap_or(digits), 2)
    } else if integer.len() > 1 && integer.starts_with('0') && integer.bytes().all(|byte| byte.is_ascii_digit()) {
        digits_of(integer, 8)
    } else {
        digits_of(integer, 10)
    };
    match bits {
        Some(bits) => Some(Immediate::Integer(bits as i64)),
        None => decimal_fraction(text),
    }
}

/// The number with its sign inverted.
pub(super) fn negated(number: Immediate) -> Immediate {
    match number {
        Immediate::Integer(value) => Immediate::Integer(value.wrapping_neg()),
        Immediate::F32(bits) => Immediate::F32(bits ^ 1 << 31),
        Immediate::F64(bits) => Immediate::F64(bits ^ 1 << 63),
    }
}

/// Parses digits only: `from_str_radix` would accept a sign.
fn digits_of(digits: &str, radix: u32) -> Option<u64> {
    let only_digits = digits.bytes().all(|byte| char::from(byte).is_digit(radix));
    only_digits.then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}

fn decimal_fraction(text: &str) -> Option<Immediate> {
    let has_valid_characters = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    if !has_valid_characters || !text.contains(['.', 'e', 'E']) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    value.is_finite().then(|| Immediate::F64(value.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(text: &str) -> Option<i64> {
        match parse_number(text) {
            Some(Immediate::Integer(value)) => Some(value),
            _ => None,
        }
    }

    #[test]
    fn integers_have_four_radices_and_a_suffix() {
        for (text, value) in [
            ("0", 0),
            ("10", 10),
            ("10U", 10),
            ("0x1F", 31),
            ("0X1fU", 31),
            ("017", 15),
            ("00", 0),
            ("0U", 0),
            ("0b101", 5),
            ("0B101U", 5),
            ("9223372036854775808", i64::MIN),
            ("18446744073709551615", -1),
            ("0xFFFFFFFFFFFFFFFF", -1),
        ] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
    }

    #[test]
    fn fractions_are_bits_or_decimal_doubles() {
        for (text, value) in [
            ("0f3F800000", Immediate::F32(0x3f80_0000)),
            ("0F7fc00000", Immediate::F32(0x7fc0_0000)),
            ("0d3FF0000000000000", Immediate::F64(0x3ff0_0000_0000_0000)),
            ("1.5", Immediate::F64(1.5f64.to_bits())),
            (".5", Immediate::F64(0.5f64.to_bits())),
            ("1.", Immediate::F64(1.0f64.to_bits())),
            ("1e3", Immediate::F64(1000.0f64.to_bits())),
            ("1.5E-3", Immediate::F64(0.0015f64.to_bits())),
        ] {
            assert_eq!(parse_number(text), Some(value), "{text}");
        }
    }

    #[test]
    fn invalid_literals_are_none() {
        for text in [
            "",
            "U",
            "08",
            "0x",
            "0xG",
            "0b2",
            "0b",
            "0f3F80000",
            "0f3F8000000",
            "0f",
            "0d3FF",
            "0f+F800000",
            "18446744073709551616",
            "0x10000000000000000",
            "1u",
            "1UU",
            "12ab",
            "1.5U",
            "1.2.3",
            "1e",
            "1e999",
            "99999999999999999999999999",
        ] {
            assert_eq!(parse_number(text), None, "{text}");
        }
    }

    #[test]
    fn negation_is_twos_complement_for_integers_and_the_sign_bit_for_floats() {
        assert_eq!(negated(Immediate::Integer(5)), Immediate::Integer(-5));
        assert_eq!(negated(Immediate::Integer(i64::MIN)), Immediate::Integer(i64::MIN));
        assert_eq!(negated(Immediate::F32(0)), Immediate::F32(0x8000_0000));
        assert_eq!(negated(Immediate::F64(1.5f64.to_bits())), Immediate::F64((-1.5f64).to_bits()));
    }
}
