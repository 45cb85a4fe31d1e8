//! Conversions between types: `cvt` (PTX ISA 9.7.9.22), without the formats of 8 bits and fewer.
//!
//! A float out of an integer's range converts to the nearest integer in range, with and without `.sat`. NaN converts to
//! 0, or to the top bit alone if the source is f64 or the destination has 64 bits, as the ISA specifies. NaN converts
//! to the canonical NaN of a float destination.

mod forms;

pub(super) use forms::forms;

use super::float::{Float, Format};
use super::modifiers::{Modifiers, round_to};
use super::operand_type::OperandType;
use super::rounding::{self, Mode};

/// An integer type of a conversion.
trait ConvertInteger: Copy {
    const MIN: i128;
    const MAX: i128;
    /// The top bit alone.
    const TOP: Self;
    const BITS: u32;
    fn wide(self) -> i128;
    /// The low bits of `value`.
    fn truncated(value: i128) -> Self;
    /// Truncated toward zero and saturated; 0 for NaN.
    fn from_f64(value: f64) -> Self;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
}

macro_rules! integers {
    ($($type:ident),*) => {$(
        impl ConvertInteger for $type {
            const MIN: i128 = $type::MIN as i128;
            const MAX: i128 = $type::MAX as i128;
            const TOP: Self = 1 << ($type::BITS - 1);
            const BITS: u32 = $type::BITS;

            #[inline(always)]
            fn wide(self) -> i128 {
                i128::from(self)
            }

            #[inline(always)]
            fn truncated(value: i128) -> Self {
                value as $type
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);

#[inline(always)]
fn truncate<S: ConvertInteger, D: ConvertInteger>(a: S) -> D {
    D::truncated(a.wide())
}

#[inline(always)]
fn saturate<S: ConvertInteger, D: ConvertInteger>(a: S) -> D {
    D::truncated(a.wide().clamp(D::MIN, D::MAX))
}

#[inline(always)]
fn integer_to<S: ConvertInteger, D: Float, M: Modifiers>(a: S) -> D {
    let nearest = M::MODE == Mode::Nearest;
    let value = if nearest && D::FORMAT.precision == 24 {
        f64::from(a.to_f32())
    } else if nearest && D::FORMAT.precision == 53 {
        a.to_f64()
    } else {
        let wide = a.wide();
        rounding::convert_integer(wide < 0, wide.unsigned_abs() as u64, M::MODE, D::FORMAT)
    };
    M::result(D::from_f64(value))
}

/// Rounds to an integral value.
#[inline(always)]
fn to_whole(a: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => a.round_ties_even(),
        Mode::NearestAway => a.round(),
        Mode::TowardZero => a.trunc(),
        Mode::Down => a.floor(),
        Mode::Up => a.ceil(),
    }
}

#[inline(always)]
fn to_integer<S: Float, D: ConvertInteger, M: Modifiers>(a: S) -> D {
    if a.is_nan() {
        return if S::FORMAT.precision == 53 || D::BITS == 64 { D::TOP } else { D::truncated(0) };
    }
    D::from_f64(to_whole(M::operand(a).to_f64(), M::MODE))
}

#[inline(always)]
fn to_integral<T: Float, M: Modifiers>(a: T) -> T {
    M::result(T::from_f64(to_whole(M::operand(a).to_f64(), M::MODE)))
}

/// Applies `.ftz` if the format is f32: it flushes no other format.
#[inline(always)]
fn flushed_if_single<T: Float, M: Modifiers>(a: T) -> T {
    if T::FORMAT.precision == 24 { M::operand(a) } else { a }
}

#[inline(always)]
fn convert<S: Float, D: Float, M: Modifiers>(a: S) -> D {
    let value = round_to::<D>(flushed_if_single::<S, M>(a).to_f64(), M::MODE);
    M::result_unflushed(flushed_if_single::<D, M>(value))
}

/// Clamps to the largest finite magnitude; NaN stays NaN.
#[inline(always)]
fn limited(a: f32, maximum: f64) -> f64 {
    let a = f64::from(a);
    if a.is_nan() { a } else { a.clamp(-maximum, maximum) }
}

#[inline(always)]
fn convert_finite<D: Float, M: Modifiers>(a: f32) -> D {
    M::result_unflushed(round_to::<D>(limited(a, D::FORMAT.maximum()), M::MODE))
}

#[inline(always)]
fn pack<D: OperandType<Value: Float>, M: Modifiers>(a: f32, b: f32) -> u32 {
    let high = D::write(convert::<f32, D::Value, M>(a)) as u32;
    high << 16 | D::write(convert::<f32, D::Value, M>(b)) as u32
}

#[inline(always)]
fn pack_finite<D: OperandType<Value: Float>, M: Modifiers>(a: f32, b: f32) -> u32 {
    let high = D::write(convert_finite::<D::Value, M>(a)) as u32;
    high << 16 | D::write(convert_finite::<D::Value, M>(b)) as u32
}

/// Converts to tf32. A tf32 value in a register is the f32 of the same value: its low 13 bits are zero, except for NaN,
/// which is 0x7fffffff.
#[inline(always)]
fn to_tf32<M: Modifiers>(a: f32) -> u32 {
    let value = rounding::convert(f64::from(a), M::MODE, Format::TF32);
    M::result(f32::from_f64(value)).to_bits()
}

#[inline(always)]
fn to_tf32_finite<M: Modifiers>(a: f32) -> u32 {
    let format = Format::TF32;
    let value = rounding::convert(limited(a, format.maximum()), M::MODE, format);
    M::result(f32::from_f64(value)).to_bits()
}

#[inline(always)]
fn to_tf32_nearest_away(a: f32) -> u32 {
    let value = rounding::convert(f64::from(a), Mode::NearestAway, Format::TF32);
    f32::from_f64(value).to_bits()
}

#[inline(always)]
fn to_tf32_nearest_away_finite(a: f32) -> u32 {
    let format = Format::TF32;
    f32::from_f64(rounding::convert(limited(a, format.maximum()), Mode::NearestAway, format)).to_bits()
}
