//! Floating-point formats, and their values as the bits of a register.
//!
//! f64 represents every value of every format exactly.

use crate::syntax::ScalarType;

/// A binary floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Width in bits.
    pub(super) bits: u32,
    /// Number of significand bits, including the leading one.
    pub(super) precision: u32,
    /// Binary exponent of the smallest subnormal number.
    pub(super) smallest: i32,
    /// Binary exponent of the largest finite number.
    pub(super) largest: i32,
    /// The canonical NaN: the NaN result of arithmetic on NVIDIA's GPUs, whatever the operands' payload.
    pub(super) nan: u64,
}

impl Format {
    pub(super) const F16: Self = Self { bits: 16, precision: 11, smallest: -24, largest: 15, nan: 0x7fff };
    pub(super) const BF16: Self = Self { bits: 16, precision: 8, smallest: -133, largest: 127, nan: 0x7fff };
    pub(super) const F32: Self = Self { bits: 32, precision: 24, smallest: -149, largest: 127, nan: 0x7fff_ffff };
    pub(super) const F64: Self = Self { bits: 64, precision: 53, smallest: -1074, largest: 1023, nan: 0x7ff8 << 48 };
    /// The values of tf32. A register holds the f32 with the same value.
    pub(super) const TF32: Self = Self { precision: 11, smallest: -136, ..Self::F32 };

    /// The format of a type, or of each half of a packed type. `None` for an integer type.
    #[inline]
    pub(super) fn of(scalar_type: ScalarType) -> Option<Self> {
        match scalar_type {
            ScalarType::F16 | ScalarType::F16x2 => Some(Self::F16),
            ScalarType::Bf16 | ScalarType::Bf16x2 => Some(Self::BF16),
            ScalarType::F32 => Some(Self::F32),
            ScalarType::F64 => Some(Self::F64),
            ScalarType::Tf32 => Some(Self::TF32),
            _ => None,
        }
    }

    /// The format of the bits in a register.
    pub(super) fn in_register(self) -> Self {
        if self == Self::TF32 { Self::F32 } else { self }
    }

    /// The largest finite number.
    pub(super) fn maximum(self) -> f64 {
        // (2^precision − 1) × 2^(largest − precision + 1)
        let fraction = ((1u64 << (self.precision - 1)) - 1) << (53 - self.precision);
        f64::from_bits(((self.largest + 1023) as u64) << 52 | fraction)
    }

    /// The value of the low bits.
    #[inline(always)]
    pub(super) fn decode(self, bits: u64) -> f64 {
        match (self.bits, self.precision) {
            (64, _) => f64::from_bits(bits),
            (32, _) => f32::from_bits(bits as u32).into(),
            (_, 8) => f32::from_bits((bits as u32) << 16).into(),
            _ => f16_to_f32(bits as u16).into(),
        }
    }

    /// The bits of the nearest value, ties to even. NaN maps to the canonical NaN.
    #[inline(always)]
    pub(super) fn encode(self, value: f64) -> u64 {
        match (self.bits, self.precision) {
            (64, _) if !value.is_nan() => value.to_bits(),
            (32, _) if !value.is_nan() => (value as f32).to_bits().into(),
            (32 | 64, _) => self.nan,
            (_, precision) => half_nearest(value, precision - 1).into(),
        }
    }

    pub(super) fn sign(self) -> u64 {
        1 << (self.bits - 1)
    }

    fn infinity(self) -> u64 {
        ((1 << (self.bits - self.precision)) - 1) << (self.precision - 1)
    }

    pub(super) fn one(self) -> u64 {
        ((1 << (self.bits - self.precision - 1)) - 1) << (self.precision - 1)
    }

    pub(super) fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign() - 1)
    }

    pub(super) fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    pub(super) fn is_infinite(self, bits: u64) -> bool {
        self.magnitude(bits) == self.infinity()
    }

    /// Whether it is a subnormal number. Zero is not.
    pub(super) fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = self.magnitude(bits);
        magnitude != 0 && magnitude >> (self.precision - 1) == 0
    }

    /// Replaces a subnormal number with zero of the same sign. Other values are unchanged.
    pub(super) fn flushed(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign() } else { bits }
    }

    /// Replaces a negative number or −0 with +0. Other values are unchanged.
    pub(super) fn rectified(self, bits: u64) -> u64 {
        if bits & self.sign() != 0 && !self.is_nan(bits) { 0 } else { bits }
    }

    /// Clamps to [+0, 1]. −0 and NaN become +0.
    pub(super) fn saturated(self, bits: u64) -> u64 {
        if bits & self.sign() != 0 || self.is_nan(bits) { 0 } else { bits.min(self.one()) }
    }
}

#[inline(always)]
fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    let value = if magnitude >= 0x7c00 {
        // Infinity and NaN: the exponent is also all ones in f32.
        magnitude << 13 | 0x7f80_0000
    } else {
        // Reinterpret with f32's bias, then correct by a power of two. This is exact for subnormal
        // numbers too.
        (f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23)).to_bits()
    };
    f32::from_bits(sign | value)
}

/// Rounds to the nearest 16-bit float with `fraction` fraction bits, ties to even.
#[inline(always)]
fn half_nearest(value: f64, fraction: u32) -> u16 {
    let largest_exponent = (1u64 << (14 - fraction)) - 1;
    let infinity = 0x7fff >> fraction << fraction;
    let magnitude = value.to_bits() & !(1 << 63);
    // Adding half a unit in the last place, minus one bit if the last bit is 0, carries exactly
    // when rounding goes up.
    let cut = 52 - fraction;
    let last = magnitude >> cut & 1;
    let rounded = (magnitude + (1 << (cut - 1)) - 1 + last) >> cut;
    let normal = rounded.wrapping_sub((1023 - largest_exponent) << fraction).min(infinity);
    // A subnormal number is a multiple of the smallest one, which is this sum's unit in the last
    // place.
    let smallest_normal = f64::from_bits((1023 - largest_exponent + 1) << 52);
    let aligning = f64::from_bits((1023 - largest_exponent + 1 + u64::from(cut)) << 52);
    let subnormal = (f64::from_bits(magnitude) + aligning).to_bits() & 0x7fff;
    let bits = if f64::from_bits(magnitude) < smallest_normal { subnormal } else { normal };
    let sign = (value.to_bits() >> 48) as u16 & 0x8000;
    if value.is_nan() { 0x7fff } else { sign | bits as u16 }
}
