//! Conversions of pairs of 8-bit floats, by searching all values of the format.

use super::form::Form;

/// The value of the bits of a format, by its definition.
fn value(format: &str, bits: u64) -> f64 {
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    let (fraction_bits, bias) = if format == "e4m3" { (3, 7) } else { (2, 15) };
    let (field, fraction) = (bits >> fraction_bits & (0x7f >> fraction_bits), bits & ((1 << fraction_bits) - 1));
    let part = fraction as f64 / f64::from(1 << fraction_bits);
    sign * match (format, bits & 0x7f) {
        ("e4m3", 0x7f) | ("e5m2", 0x7d..) => f64::NAN,
        ("e5m2", 0x7c) => f64::INFINITY,
        _ if field == 0 => part * 2f64.powi(1 - bias),
        _ => (1.0 + part) * 2f64.powi(field as i32 - bias),
    }
}

/// The bits of the nearest finite value of a format. Ties go to the value with a clear lowest bit.
fn nearest(format: &str, x: f64) -> u64 {
    if x.is_nan() {
        return 0x7f;
    }
    let largest = if format == "e4m3" { 448.0 } else { 57344.0 };
    let distance = |bits: u64| (value(format, bits) - x.abs().min(largest)).abs();
    let finite = (0..0x80).filter(|bits| value(format, *bits).is_finite());
    let best = finite.min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1))));
    best.expect("a format has values") | if x.is_sign_negative() { 0x80 } else { 0 }
}

fn f16_value(bits: u64) -> f64 {
    let fraction = (bits & 0x3ff) as f64 / 1024.0;
    let magnitude = match bits >> 10 & 0x1f {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        field => (1.0 + fraction) * 2f64.powi(field as i32 - 15),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// The unique f16 with this value; 0x7fff for NaN.
fn f16_bits(x: f64) -> u64 {
    if x.is_nan() {
        return 0x7fff;
    }
    let same = |bits: &u64| f16_value(*bits) == x && (bits & 0x8000 != 0) == x.is_sign_negative();
    // An 8-bit value has at most three fraction bits, unless it is subnormal.
    (0..0x1_0000).step_by(1 << 4).find(same).expect("f16 has all values of 8 bits")
}

/// The result of a conversion to or from a pair. `None` if the form is not one.
pub(crate) fn convert(form: &Form, s: [u64; 4]) -> Option<u64> {
    let eight = |name: &str| ["e4m3", "e5m2"].into_iter().find(|format| name.strip_suffix("x2") == Some(format));
    if let Some(format) = eight(form.last()) {
        let half = |bits: u64| match f16_bits(value(format, bits & 0xff)) {
            bits if form.has("relu") && bits & 0x8000 != 0 => 0,
            bits => bits,
        };
        return Some(half(s[0] >> 8) << 16 | half(s[0]));
    }
    let format = eight(form.destination())?;
    let [high, low] = match form.last() {
        "f32" => [s[0], s[1]].map(|source| f64::from(f32::from_bits(source as u32))),
        _ => [s[0] >> 16, s[0]].map(|half| f16_value(half & 0xffff)),
    };
    let part = |x: f64| match nearest(format, x) {
        bits if form.has("relu") && bits & 0x80 != 0 => 0,
        bits => bits,
    };
    Some(part(high) << 8 | part(low))
}
