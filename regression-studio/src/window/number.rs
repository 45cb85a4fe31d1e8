//! Formatting of numbers for display.

/// A count with thousands separators: 411,668.
pub(crate) fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Four significant digits; scientific notation if the number is very large or small.
pub(crate) fn short(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() {
        return if value.is_nan() { "–".to_owned() } else { value.to_string().replace("inf", "∞") };
    }
    match magnitude {
        0.0 => "0".to_owned(),
        _ if !(1e-3..1e7).contains(&magnitude) => format!("{value:.3e}").replace('-', "−"),
        _ if magnitude >= 1e4 => {
            let sign = if value < 0.0 { "−" } else { "" };
            format!("{sign}{}", count(magnitude.round() as usize))
        }
        _ => {
            let decimals = (3 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{value:.decimals$}").replace('-', "−")
        }
    }
}

/// A number with at most this many significant digits, without trailing zeros.
pub(crate) fn with_digits(value: f64, digits: usize) -> String {
    let rounded: f64 = format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value);
    rounded.to_string()
}

/// A short axis label with at most four significant digits, since marks are round numbers.
pub(crate) fn tick(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        magnitude if !(1e-4..1e6).contains(&magnitude) => {
            let text = format!("{value:.3e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.')).replace('-', "−")
        }
        magnitude if magnitude >= 1e3 => {
            format!("{}{}", if value < 0.0 { "−" } else { "" }, count(magnitude.round() as usize))
        }
        _ => format!("{}", (value * 1e6).round() / 1e6).replace('-', "−"),
    }
}

/// A duration: 0.4 s, 12 s, 3 min 05 s, 2 h 10 min.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        _ if seconds < 9.95 => format!("{:.1} s", seconds.max(0.0)),
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// The label of 10^exponent on a logarithmic axis; empty between integer powers.
pub(crate) fn power_of_ten(exponent: f64) -> String {
    let whole = exponent.round();
    if (exponent - whole).abs() > 1e-6 {
        return String::new();
    }
    match whole as i32 {
        power @ -3..=3 => {
            let value = 10.0_f64.powi(power);
            if power < 0 { format!("{value:.*}", power.unsigned_abs() as usize) } else { count(value as usize) }
        }
        power => {
            let raised = |character| match character {
                '-' => '⁻',
                '1' => '¹',
                '2' => '²',
                '3' => '³',
                digit => char::from_u32('⁰' as u32 + digit as u32 - '0' as u32).unwrap_or(digit),
            };
            format!("10{}", power.to_string().chars().map(raised).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_briefly() {
        assert_eq!([count(0), count(999), count(411_668), count(1_000_000)], ["0", "999", "411,668", "1,000,000"]);
        assert_eq!(short(0.123_456), "0.1235");
        assert_eq!(short(-3.5), "−3.500");
        assert_eq!(short(43_210.4), "43,210");
        assert_eq!(short(1.5e9), "1.500e9");
        assert_eq!(short(f64::NAN), "–");
        assert_eq!(
            [0.0, 5e5, 1e6, 1.5e6, 2e6, -2.5e7, 2e-5, 0.25, -0.5].map(tick),
            ["0", "500,000", "1e6", "1.5e6", "2e6", "−2.5e7", "2e−5", "0.25", "−0.5"]
        );
        let of_sums = [27_286.848_422_400_002, 0.1 + 0.2, -1e-3 / 3.0, 120.0].map(|value| with_digits(value, 12));
        assert_eq!(of_sums, ["27286.8484224", "0.3", "-0.000333333333333", "120"]);
        assert_eq!(duration(0.44), "0.4 s");
        assert_eq!(duration(59.6), "1 min 00 s");
        assert_eq!(duration(7_805.0), "2 h 10 min");
        assert_eq!(
            [power_of_ten(-2.0), power_of_ten(3.0), power_of_ten(0.5), power_of_ten(19.0)],
            ["0.01", "1,000", "", "10¹⁹"]
        );
    }
}
