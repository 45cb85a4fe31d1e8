//! Conversions of floats to integers of 128 bits, for which a GPU has neither an instruction nor a function that a compiler would
//! call.

use super::Float;

/// The integer part of `x`, as `x as u128` on the host, which does not compile for a GPU: 0 for NaN and what is negative, the largest
/// integer for what is larger. The other direction is `n as f32` and `n as f64` everywhere.
///
/// ```
/// use cuda_std::math::to_u128;
/// assert_eq!(to_u128(1e30_f64), 1e30 as u128);
/// assert_eq!([to_u128(-1.5_f32), to_u128(f32::NAN), to_u128(f32::INFINITY)], [0, 0, u128::MAX]);
/// ```
#[inline]
pub fn to_u128(x: impl Float) -> u128 {
    let x = x.to_f64();
    if x < 1.0 || x.is_nan() {
        return 0;
    }
    let bits = x.to_bits();
    let significand = u128::from(bits << 12 >> 12 | 1 << 52);
    // x = significand · 2^(exponent − 52)
    let exponent = (bits >> 52) as u32 - 1023;
    match exponent {
        0..52 => significand >> (52 - exponent),
        52..128 => significand << (exponent - 52),
        _ => u128::MAX,
    }
}

/// The integer part of `x`, as `x as i128` on the host, which does not compile for a GPU: 0 for NaN, the nearest integer for what is
/// out of range.
///
/// ```
/// use cuda_std::math::to_i128;
/// assert_eq!(to_i128(-1e30_f64), -1e30 as i128);
/// assert_eq!([to_i128(f32::NAN), to_i128(f32::NEG_INFINITY)], [0, i128::MIN]);
/// ```
#[inline]
pub fn to_i128(x: impl Float) -> i128 {
    let x = x.to_f64();
    let magnitude = to_u128(x.abs());
    match i128::try_from(magnitude) {
        Ok(magnitude) if x < 0.0 => -magnitude,
        Ok(magnitude) => magnitude,
        Err(_) if x < 0.0 => i128::MIN,
        Err(_) => i128::MAX,
    }
}
