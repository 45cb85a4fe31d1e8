//! Bit-exact rounding in every mode, without changing the host's rounding mode.
//!
//! Finite operands become exact integers times powers of two. The result is computed on integers
//! and rounded once to a format's precision and range. Rounding to nearest uses the host's
//! arithmetic where possible, which is faster.

use super::float::Format;

/// Rounding mode of a result that the format cannot represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
    /// `.rz`
    TowardZero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

/// ±significand × 2^exponent. If nonzero digits were cut off, the lowest bit is set as a sticky
/// bit, far below the rounding position.
#[derive(Clone, Copy)]
struct ExactFloat {
    negative: bool,
    significand: u128,
    exponent: i32,
}

impl ExactFloat {
    /// From a finite value.
    fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let field = (bits >> 52) as i32 & 0x7ff;
        let fraction = bits & ((1 << 52) - 1);
        let (significand, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        Self { negative: value.is_sign_negative(), significand: u128::from(significand), exponent }
    }

    /// The same value with the significand's highest bit at position 125. The significand must be nonzero and no
    /// longer.
    fn scaled(self) -> Self {
        let shift = self.significand.leading_zeros() - 2;
        Self { significand: self.significand << shift, exponent: self.exponent - shift as i32, ..self }
    }

    fn times(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            significand: self.significand * other.significand,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The sum, for operands of at most 106 bits. The sign of a zero sum follows IEEE 754, 6.3.
    fn plus(self, other: Self, mode: Mode) -> Self {
        match (self.significand, other.significand) {
            (0, 0) if self.negative == other.negative => return self,
            (0, 0) => return Self { negative: mode == Mode::Down, ..self },
            (0, _) => return other,
            (_, 0) => return self,
            _ => {}
        }
        let (a, b) = (self.scaled(), other.scaled());
        let (high, low) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
        // If the shift cuts off bits, it is at least 20, and the difference keeps more than 100
        // bits.
        let aligned = shift_right_sticky(low.significand, (high.exponent - low.exponent) as u32);
        let (negative, significand) = if high.negative == low.negative {
            (high.negative, high.significand + aligned)
        } else if high.significand == aligned {
            (mode == Mode::Down, 0)
        } else {
            (high.negative != (aligned > high.significand), high.significand.abs_diff(aligned))
        };
        Self { negative, significand, exponent: high.exponent }
    }

    /// Rounds to a value of the format, or to an infinity.
    fn round(self, mode: Mode, format: Format) -> f64 {
        let sign = if self.negative { -1.0 } else { 1.0 };
        if self.significand == 0 {
            return sign * 0.0;
        }
        let leading = self.exponent + 127 - self.significand.leading_zeros() as i32;
        let unit = (leading - (format.precision as i32 - 1)).max(format.smallest);
        if leading > format.largest {
            return sign * overflow(self.negative, mode, format);
        }
        let magnitude = if unit <= self.exponent {
            // Exact: the significand has no more bits than the format.
            self.significand as f64 * power_of_two(self.exponent)
        } else {
            let cut = (unit - self.exponent) as u32;
            let kept = self.significand.checked_shr(cut).unwrap_or(0);
            let rest = self.significand ^ kept.checked_shl(cut).unwrap_or(0);
            let half = 1u128.checked_shl(cut - 1).unwrap_or(u128::MAX);
            let up = match mode {
                Mode::Nearest => rest > half || (rest == half && kept & 1 == 1),
                Mode::NearestAway => rest >= half,
                Mode::TowardZero => false,
                Mode::Down => rest != 0 && self.negative,
                Mode::Up => rest != 0 && !self.negative,
            };
            (kept + u128::from(up)) as f64 * power_of_two(unit)
        };
        if magnitude > format.maximum() {
            return sign * overflow(self.negative, mode, format);
        }
        sign * magnitude
    }
}

/// Magnitude of a result beyond the largest finite number.
fn overflow(negative: bool, mode: Mode, format: Format) -> f64 {
    let infinite = match mode {
        Mode::Nearest | Mode::NearestAway => true,
        Mode::TowardZero => false,
        Mode::Down => negative,
        Mode::Up => !negative,
    };
    if infinite { f64::INFINITY } else { format.maximum() }
}

/// 2^exponent, for every power of two in f64, including subnormal ones.
fn power_of_two(exponent: i32) -> f64 {
    if exponent < -1022 {
        f64::from_bits(1 << (exponent + 1074))
    } else {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    }
}

fn shift_right_sticky(value: u128, amount: u32) -> u128 {
    match value.checked_shr(amount) {
        Some(shifted) => shifted | u128::from(shifted << amount != value),
        None => u128::from(value != 0),
    }
}

/// a + b in f64, rounded to odd: of the two neighbors of an inexact sum, the one with an odd
/// significand. Rounding it to a format of at most 51 bits, in any mode, equals rounding the exact
/// sum once (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). The sum
/// must be zero, or normal without overflow.
#[inline(always)]
pub(super) fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // The error of the sum (Knuth's TwoSum); NaN if the sum is not finite.
    let rounded_b = sum - a;
    let error = (a - (sum - rounded_b)) + (b - rounded_b);
    let bits = sum.to_bits();
    let away = (error > 0.0) == (sum > 0.0);
    let neighbour = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let inexact = error != 0.0 && !error.is_nan();
    f64::from_bits(if inexact && bits & 1 == 0 { neighbour } else { bits })
}

/// a + b
pub(super) fn add(a: f64, b: f64, mode: Mode, format: Format) -> f64 {
    if !(a.is_finite() && b.is_finite()) {
        return a + b;
    }
    ExactFloat::of(a).plus(ExactFloat::of(b), mode).round(mode, format)
}

/// a × b
pub(super) fn multiply(a: f64, b: f64, mode: Mode, format: Format) -> f64 {
    if !(a.is_finite() && b.is_finite()) {
        return a * b;
    }
    ExactFloat::of(a).times(ExactFloat::of(b)).round(mode, format)
}

/// a × b + c, rounded once.
pub(super) fn multiply_add(a: f64, b: f64, c: f64, mode: Mode, format: Format) -> f64 {
    if !(a.is_finite() && b.is_finite() && c.is_finite()) {
        // The product of finite numbers must not become infinite before c is added.
        let product = if a.is_finite() && b.is_finite() { 0.0 } else { a * b };
        return product + c;
    }
    ExactFloat::of(a).times(ExactFloat::of(b)).plus(ExactFloat::of(c), mode).round(mode, format)
}

/// a ÷ b
pub(super) fn divide(a: f64, b: f64, mode: Mode, format: Format) -> f64 {
    if !(a.is_finite() && b.is_finite()) || a == 0.0 || b == 0.0 {
        return a / b;
    }
    let (a, b) = (ExactFloat::of(a).scaled(), ExactFloat::of(b));
    // At least 72 bits of the quotient.
    let quotient = a.significand / b.significand;
    let inexact = a.significand % b.significand != 0;
    ExactFloat {
        negative: a.negative != b.negative,
        significand: quotient | u128::from(inexact),
        exponent: a.exponent - b.exponent,
    }
    .round(mode, format)
}

/// √a
pub(super) fn square_root(a: f64, mode: Mode, format: Format) -> f64 {
    if !a.is_finite() || a <= 0.0 {
        return a.sqrt();
    }
    let mut a = ExactFloat::of(a).scaled();
    if a.exponent % 2 != 0 {
        a = ExactFloat { significand: a.significand << 1, exponent: a.exponent - 1, ..a };
    }
    // 63 or 64 bits of the root.
    let root = a.significand.isqrt();
    let inexact = root * root != a.significand;
    ExactFloat { significand: root | u128::from(inexact), exponent: a.exponent / 2, ..a }.round(mode, format)
}

/// Rounds a value to a format.
pub(super) fn convert(a: f64, mode: Mode, format: Format) -> f64 {
    if a.is_finite() { ExactFloat::of(a).round(mode, format) } else { a }
}

/// Rounds an integer to a format.
pub(super) fn convert_integer(negative: bool, magnitude: u64, mode: Mode, format: Format) -> f64 {
    let negative = negative && magnitude != 0;
    ExactFloat { negative, significand: u128::from(magnitude), exponent: 0 }.round(mode, format)
}
