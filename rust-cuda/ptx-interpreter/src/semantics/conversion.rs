//! Evaluates conversions.
//!
//! A float outside an integer's range converts to the nearest integer in range, with and without
//! `.sat`. NaN converts to 0, or to only the top bit if the source is f64 or the destination has 64
//! bits, as the ISA specifies. With a float destination, NaN converts to the canonical NaN.

use super::float::Format;
use super::modifiers::Modifiers;
use super::rounding::{self, Mode};
use super::values::{bits, clamp, read_integer, truncate};
use crate::syntax::ScalarType;

/// The conversion of one value.
pub(super) fn value(modifiers: &Modifiers, from: ScalarType, to: ScalarType, integral: bool, source: u64) -> u64 {
    match (Format::of(from), Format::of(to)) {
        (None, None) => {
            let value = read_integer(from, source);
            truncate(to, if modifiers.saturate { clamp(to, value) } else { value } as u64)
        }
        (None, Some(format)) => {
            let value = read_integer(from, source);
            let magnitude = value.unsigned_abs() as u64;
            let rounded = rounding::convert_integer(value < 0, magnitude, modifiers.rounding, format);
            modifiers.result(format, rounded)
        }
        (Some(format), None) => float_to_integer(modifiers, format, to, source),
        (Some(source_format), Some(format)) => {
            let value = flushing_only(modifiers, source_format).operand(source_format, truncate(from, source));
            let value = match modifiers.rounding {
                mode if integral => to_whole(value, mode),
                mode if modifiers.finite => rounding::convert(limited(value, format.maximum()), mode, format),
                Mode::Nearest if format != Format::TF32 => value,
                mode => rounding::convert(value, mode, format),
            };
            flushing_only(modifiers, format).result(format.in_register(), value)
        }
    }
}

/// The modifiers, with `.ftz` only if the format is f32. It does not flush other formats.
fn flushing_only(modifiers: &Modifiers, format: Format) -> Modifiers {
    Modifiers { flush: modifiers.flush && format == Format::F32, ..*modifiers }
}

fn float_to_integer(modifiers: &Modifiers, format: Format, to: ScalarType, source: u64) -> u64 {
    let value = modifiers.operand(format, source);
    if value.is_nan() {
        let is_top_bit = format == Format::F64 || to.bytes() == 8;
        return if is_top_bit { 1 << (bits(to) - 1) } else { 0 };
    }
    truncate(to, clamp(to, to_whole(value, modifiers.rounding) as i128) as u64)
}

/// Rounds to an integral value.
fn to_whole(a: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => a.round_ties_even(),
        Mode::NearestAway => a.round(),
        Mode::TowardZero => a.trunc(),
        Mode::Down => a.floor(),
        Mode::Up => a.ceil(),
    }
}

/// Clamps to the largest finite magnitude. NaN stays NaN.
fn limited(a: f64, maximum: f64) -> f64 {
    if a.is_nan() { a } else { a.clamp(-maximum, maximum) }
}
