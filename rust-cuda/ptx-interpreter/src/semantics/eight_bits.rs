//! The 8-bit floating-point formats, in pairs, that `cvt` converts from and to (PTX ISA 5.2.3).

use super::float::Format;
use super::modifiers::Modifiers;

/// The NaN that conversions write.
const NAN: u64 = 0x7f;

/// A format with a sign, an exponent and a fraction.
#[derive(Clone, Copy, Debug)]
pub(super) struct EightBits {
    /// Number of fraction bits.
    fraction: u32,
    /// Binary exponent of the smallest subnormal number.
    smallest: i32,
    /// The bits of the largest finite number. All larger ones are NaN, except that the next one in
    /// e5m2 is infinity.
    maximum: u64,
}

impl EightBits {
    /// No infinities, and one NaN per sign.
    pub(super) const E4M3: Self = Self { fraction: 3, smallest: -9, maximum: 0x7e };
    /// The upper half of an f16.
    pub(super) const E5M2: Self = Self { fraction: 2, smallest: -16, maximum: 0x7b };

    /// The value of the low 8 bits.
    fn decode(self, bits: u64) -> f64 {
        let magnitude = bits & 0x7f;
        let value = match magnitude {
            _ if magnitude <= self.maximum => {
                let (field, fraction) = (magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1));
                let significand = if field == 0 { fraction } else { fraction | 1 << self.fraction };
                significand as f64 * power(field.saturating_sub(1) as i32 + self.smallest)
            }
            _ if magnitude == self.maximum + 1 && self.maximum < NAN - 1 => f64::INFINITY,
            _ => f64::NAN,
        };
        if bits & 0x80 == 0 { value } else { -value }
    }

    /// The bits of the nearest finite value, ties to even. NaN maps to NaN.
    fn encode(self, value: f64) -> u64 {
        if value.is_nan() {
            return NAN;
        }
        let magnitude = value.abs().min(self.decode(self.maximum));
        // A subnormal f64 is also below all units.
        let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
        let unit = (exponent - self.fraction as i32).max(self.smallest);
        let significand = (magnitude * power(-unit)).round_ties_even() as u64;
        // A normal significand has the leading one, which adds one to the exponent field.
        let bits = (((unit - self.smallest) as u64) << self.fraction) + significand;
        bits | u64::from(value.is_sign_negative()) << 7
    }
}

/// 2^exponent as a normal f64.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The pair of two values: the halves of one f16x2, or two f32 values with the first in the upper
/// half. With `relu`, negative results become zero.
pub(super) fn to_pair(format: EightBits, relu: bool, source: Option<Format>, [a, b, ..]: [u64; 4]) -> u64 {
    let [high, low] = match source {
        Some(Format::F32) => [a, b].map(|source| Format::F32.decode(source)),
        _ => [a >> 16, a].map(|half| Format::F16.decode(half & 0xffff)),
    };
    let bits = |value| match format.encode(value) {
        bits if relu && bits & 0x80 != 0 => 0,
        bits => bits,
    };
    bits(high) << 8 | bits(low)
}

/// The f16x2 of a pair. f16 represents the values exactly.
pub(super) fn from_pair(format: EightBits, modifiers: Modifiers, source: u64) -> u64 {
    let half = |bits| modifiers.result(Format::F16, format.decode(bits));
    half(source >> 8) << 16 | half(source)
}
