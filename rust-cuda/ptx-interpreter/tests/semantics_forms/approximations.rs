//! Accepted results of approximations: within one unit in the last place of another formula in f64,
//! and exact where the ISA has a table.

use ptx_random_programs::reference::{Form, Layout, Rounding, decode, encode};
use std::f64::consts::LN_2;

/// Whether a result is accepted. `None` if this module has no reference for the form.
pub(crate) fn accepts(form: &Form<'_>, source: u64, result: u64) -> Option<bool> {
    if let Some(packed) = form.name("f16x2").or(form.name("bf16x2")) {
        let half = form.with_type(packed.strip_suffix("x2")?);
        let part = |shift: u32| accepts(&half, source >> shift & 0xffff, result >> shift & 0xffff);
        return Some(result >> 32 == 0 && part(0)? && part(16)?);
    }
    let layout = Layout::of(form.last())?;
    let source = source & (layout.sign() | (layout.sign() - 1));
    let coarse = form.last() == "f64" && form.has("ftz");
    let source = if coarse && !layout.is_nan(source) { source >> 32 << 32 } else { source };
    let source = if form.has("ftz") { layout.flush(source) } else { source };
    let a = to_f64(layout, source);
    let half = a / 2.0;
    // The cosine of mingw-w64 ends at 2⁶³.
    let (sine, cosine) = libm::sincos(half);
    let expected = match form.opcode {
        "rcp" => 1.0 / a,
        "rsqrt" if a == 0.0 => f64::INFINITY.copysign(a),
        "rsqrt" if a.is_infinite() && a > 0.0 => 0.0,
        "rsqrt" => 1.0 / a.sqrt(),
        "sin" if a == 0.0 => a,
        "sin" => 2.0 * sine * cosine,
        "cos" => (cosine - sine) * (cosine + sine),
        "lg2" => a.ln() / LN_2,
        "ex2" => (a * LN_2).exp(),
        "tanh" if a.abs() > 20.0 => 1f64.copysign(a),
        "tanh" => (2.0 * a).exp_m1() / ((2.0 * a).exp_m1() + 2.0),
        _ => return None,
    };
    if coarse {
        // The significand has 21 bits; the lower bits are zero.
        let bits = layout.flush(expected.to_bits());
        let distance = (layout.key(result) - layout.key(bits)).abs();
        let exact = if expected.is_nan() { result == 0x7fff_ffff_0000_0000 } else { distance < 1 << 32 };
        return Some(exact && result << 32 == 0);
    }
    if expected.is_nan() {
        return Some(result == layout.nan());
    }
    let bits = layout_bits(layout, expected);
    let bits = if form.has("ftz") { layout.flush(bits) } else { bits };
    let exact = bits & !layout.sign() == layout.infinity() || bits & !layout.sign() == 0 || bits == layout.one();
    let away = (layout.key(result) - layout.key(bits)).abs();
    let at_the_edge = form.has("ftz") && away == i128::from(1u64 << (layout.precision - 1));
    Some(if exact && source & (layout.sign() - 1) == 0 || bits & !layout.sign() == layout.infinity() {
        result == bits
    } else {
        away <= 1 || at_the_edge
    })
}

fn to_f64(layout: Layout, bits: u64) -> f64 {
    match layout.bits {
        64 => f64::from_bits(bits),
        32 => f64::from(f32::from_bits(bits as u32)),
        _ if layout.precision == 8 => f64::from(f32::from_bits((bits as u32) << 16)),
        _ => {
            let magnitude = (bits & 0x7fff) as f64;
            let value = match bits >> 10 & 31 {
                0 => magnitude * 2f64.powi(-24),
                31 if bits & 0x3ff != 0 => f64::NAN,
                31 => f64::INFINITY,
                exponent => (1024 + (bits & 0x3ff)) as f64 * 2f64.powi(exponent as i32 - 25),
            };
            if bits & 0x8000 == 0 { value } else { -value }
        }
    }
}

fn layout_bits(layout: Layout, value: f64) -> u64 {
    let double = Layout { bits: 64, precision: 53 };
    let value = decode(double, value.to_bits());
    encode(layout, &value, Rounding::Nearest)
}
