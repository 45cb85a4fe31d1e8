//! The directives of C's `printf`, such as `%-8.3f` (ISO C 7.23.6.1).

/// A conversion directive of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directive<'a> {
    pub(super) text: &'a str,
    /// Some of `-+ #0`.
    flags: &'a str,
    pub(super) width: Number,
    pub(super) precision: Number,
    /// `hh`, `h`, `l`, `ll`, `j`, `z`, `t`, or nothing.
    length: &'a str,
    pub(super) conversion: char,
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    None,
    Given(usize),
    /// A negative value: as a width, adds the flag `-`; as a precision, means none.
    Negative(usize),
    /// The next argument.
    Argument,
}

/// Maximum width and precision. Larger values are clamped to it.
const MAX_NUMBER: usize = 4096;

impl Number {
    /// The value of an argument.
    pub(super) fn of(value: i32) -> Self {
        let size = (value.unsigned_abs() as usize).min(MAX_NUMBER);
        if value < 0 { Self::Negative(size) } else { Self::Given(size) }
    }

    fn value(self) -> Option<usize> {
        if let Self::Given(value) = self { Some(value) } else { None }
    }

    /// A number at the beginning of a text, and the text after it.
    fn parse(text: &str) -> (Self, &str) {
        if let Some(rest) = text.strip_prefix('*') {
            return (Self::Argument, rest);
        }
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &text[..text.len() - rest.len()];
        let value = || digits.parse().map_or(MAX_NUMBER, |value: usize| value.min(MAX_NUMBER));
        (if digits.is_empty() { Self::None } else { Self::Given(value()) }, rest)
    }
}

impl<'a> Directive<'a> {
    /// The directive at the beginning of a text, which begins with `%`. `None` if it is not a C
    /// directive.
    pub(super) fn first(text: &'a str) -> Option<Self> {
        let before_width = text[1..].trim_start_matches(['-', '+', ' ', '#', '0']);
        let flags = &text[1..text.len() - before_width.len()];
        let (width, rest) = Number::parse(before_width);
        let (precision, rest) = match rest.strip_prefix('.') {
            // A point without digits means a precision of 0.
            Some(rest) => match Number::parse(rest) {
                (Number::None, rest) => (Number::Given(0), rest),
                found => found,
            },
            None => (Number::None, rest),
        };
        let after_length = rest.trim_start_matches(['h', 'l', 'j', 'z', 't']);
        let length = &rest[..rest.len() - after_length.len()];
        let conversion = after_length.chars().next()?;
        let text = &text[..text.len() - after_length.len() + conversion.len_utf8()];
        let is_known = matches!(
            conversion,
            '%' | 'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' | 's' | 'p' | 'f' | 'F' | 'e' | 'E' | 'g' | 'G'
        );
        is_known.then_some(Self { text, flags, width, precision, length, conversion })
    }

    /// Whether an integer has 64 bits.
    pub(super) fn is_long(&self) -> bool {
        !self.length.is_empty() && !self.length.starts_with('h')
    }

    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// The sign to print before a number.
    fn sign(&self, is_negative: bool) -> &'static str {
        match is_negative {
            true => "-",
            false if self.has('+') => "+",
            false if self.has(' ') => " ",
            false => "",
        }
    }

    /// Pads to the width: with zeros after the prefix if the flag asks for them and they are
    /// allowed, otherwise with spaces.
    pub(super) fn padded(&self, prefix: &str, body: &str, zeros: bool) -> String {
        let (width, to_the_left) = match self.width {
            Number::Given(width) => (width, self.has('-')),
            Number::Negative(width) => (width, true),
            Number::None | Number::Argument => (0, false),
        };
        let missing = width.saturating_sub(prefix.chars().count() + body.chars().count());
        match (to_the_left, zeros && self.has('0')) {
            (true, _) => format!("{prefix}{body}{}", " ".repeat(missing)),
            (false, true) => format!("{prefix}{}{body}", "0".repeat(missing)),
            (false, false) => format!("{}{prefix}{body}", " ".repeat(missing)),
        }
    }

    /// An integer. The length modifier determines the number of significant bits.
    pub(super) fn integer(&self, bits: u64) -> String {
        let width = match self.length {
            "hh" => 8,
            "h" => 16,
            "" => 32,
            _ => 64,
        };
        let unsigned = bits & (u64::MAX >> (64 - width));
        let signed = (bits << (64 - width)) as i64 >> (64 - width);
        let (prefix, digits) = match self.conversion {
            'd' | 'i' => (self.sign(signed < 0), signed.unsigned_abs().to_string()),
            'u' => ("", unsigned.to_string()),
            'o' => (if self.has('#') && unsigned != 0 { "0" } else { "" }, format!("{unsigned:o}")),
            'x' => (if self.has('#') && unsigned != 0 { "0x" } else { "" }, format!("{unsigned:x}")),
            _ => (if self.has('#') && unsigned != 0 { "0X" } else { "" }, format!("{unsigned:X}")),
        };
        match self.precision.value() {
            // No digits for zero.
            Some(0) if unsigned == 0 => self.padded(prefix, "", false),
            Some(precision) => {
                let zeros = "0".repeat(precision.saturating_sub(digits.len()));
                self.padded(prefix, &(zeros + &digits), false)
            }
            None => self.padded(prefix, &digits, true),
        }
    }

    /// A string, truncated to the precision.
    pub(super) fn string(&self, string: &str) -> String {
        let characters = self.precision.value().unwrap_or(usize::MAX);
        self.padded("", &string.chars().take(characters).collect::<String>(), false)
    }

    /// A floating-point number, rounded to nearest.
    pub(super) fn float(&self, value: f64) -> String {
        let sign = self.sign(value.is_sign_negative() && !value.is_nan());
        let (value, precision) = (value.abs(), self.precision.value().unwrap_or(6));
        let is_upper = self.conversion.is_ascii_uppercase();
        let upper = |text: String| if is_upper { text.to_ascii_uppercase() } else { text };
        if !value.is_finite() {
            return self.padded(sign, &upper(value.to_string().to_ascii_lowercase()), false);
        }
        let body = match self.conversion {
            'f' | 'F' => self.fixed(value, precision),
            'e' | 'E' => self.scientific(value, precision),
            _ => {
                // As many digits as the precision, depending on the exponent after rounding to
                // them.
                let digits = precision.max(1);
                let (_, exponent) = parts(value, digits - 1);
                let body = match usize::try_from(exponent + 4) {
                    Ok(_) if exponent < digits as i32 => self.fixed(value, (digits as i32 - 1 - exponent) as usize),
                    _ => self.scientific(value, digits - 1),
                };
                if self.has('#') { body } else { without_trailing_zeros(&body) }
            }
        };
        self.padded(sign, &upper(body), true)
    }

    fn fixed(&self, value: f64, precision: usize) -> String {
        let point = if precision == 0 && self.has('#') { "." } else { "" };
        format!("{value:.precision$}{point}")
    }

    fn scientific(&self, value: f64, precision: usize) -> String {
        let (mantissa, exponent) = parts(value, precision);
        let point = if precision == 0 && self.has('#') { "." } else { "" };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}{point}e{sign}{:02}", exponent.unsigned_abs())
    }
}

/// The mantissa with `precision` digits after the point, and the exponent.
fn parts(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').expect("Rust's {:e} has an exponent");
    (mantissa.to_owned(), exponent.parse().expect("Rust's exponents are integers"))
}

/// Removes the trailing zeros of a fraction, and its point if no digits are left.
fn without_trailing_zeros(text: &str) -> String {
    let (mantissa, exponent) = text.find('e').map_or((text, ""), |at| text.split_at(at));
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn float(directive: &str, value: f64) -> String {
        let parsed = Directive::first(directive).unwrap();
        assert_eq!(parsed.text, directive);
        parsed.float(value)
    }

    /// Values from ISO C's rules, checked with glibc.
    #[test]
    fn floats_are_printed_as_by_c() {
        for (directive, value, expected) in [
            ("%f", 1e22, "10000000000000000000000.000000"),
            ("%.0f", 0.5, "0"),
            ("%.0f", 1.5, "2"),
            ("%.1f", 3.25, "3.2"),
            ("%#.0f", 7.0, "7."),
            ("%+.2f", 2.675, "+2.67"),
            ("%08.2f", -7.14159, "-0007.14"),
            ("%-9.2f|", 2.0, "2.00     "),
            ("% f", 1.0, " 1.000000"),
            ("%e", 0.0, "0.000000e+00"),
            ("%.2e", 123456.0, "1.23e+05"),
            ("%.0e", 5e-100, "5e-100"),
            ("%E", 1e-5, "1.000000E-05"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%g", 100000.0, "100000"),
            ("%g", 1000000.0, "1e+06"),
            ("%g", 999999.5, "1e+06"),
            ("%.3g", 0.00012345, "0.000123"),
            ("%#g", 1.0, "1.00000"),
            ("%.0g", 123.0, "1e+02"),
            ("%G", 1e-10, "1E-10"),
            ("%g", 0.0, "0"),
            ("%f", -0.0, "-0.000000"),
            ("%5.1f", f64::INFINITY, "  inf"),
            ("%05F", f64::NEG_INFINITY, " -INF"),
            ("%e", f64::NAN, "nan"),
        ] {
            let directive = directive.trim_end_matches('|');
            assert_eq!(float(directive, value), expected, "{directive} of {value}");
        }
    }

    #[test]
    fn integers_and_strings_are_printed_as_by_c() {
        for (directive, bits, expected) in [
            ("%.3d", 7_u64, "007"),
            ("%06.3d", 7, "   007"),
            ("%.0d", 0, ""),
            ("%+d", 0, "+0"),
            ("%#x", 0, "0"),
            ("%#08x", 255, "0x0000ff"),
            ("%#o", 8, "010"),
            ("%-6d", 42, "42    "),
            ("%lld", u64::MAX, "-1"),
            ("%d", 0x1_0000_0005, "5"),
            ("%hhd", 0x80, "-128"),
        ] {
            assert_eq!(Directive::first(directive).unwrap().integer(bits), expected, "{directive}");
        }
        assert_eq!(Directive::first("%6.2s").unwrap().string("abc"), "    ab");
        assert_eq!(Directive::first("%k"), None);
        assert_eq!(Directive::first("%"), None);
        assert_eq!(Directive::first("%99999999999999999999d").unwrap().width, Number::Given(MAX_NUMBER));
    }
}
