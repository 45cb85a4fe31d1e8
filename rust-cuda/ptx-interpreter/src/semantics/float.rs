//! Floating-point formats and their values.

/// A binary floating-point format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// Number of significand bits, including the leading one.
    pub(super) precision: u32,
    /// Binary exponent of the smallest subnormal number.
    pub(super) smallest: i32,
    /// Binary exponent of the largest finite number.
    pub(super) largest: i32,
}

impl Format {
    pub(super) const F16: Self = Self { precision: 11, smallest: -24, largest: 15 };
    pub(super) const BF16: Self = Self { precision: 8, smallest: -133, largest: 127 };
    pub(super) const TF32: Self = Self { precision: 11, smallest: -136, largest: 127 };
    pub(super) const F32: Self = Self { precision: 24, smallest: -149, largest: 127 };
    pub(super) const F64: Self = Self { precision: 53, smallest: -1074, largest: 1023 };

    /// The largest finite number.
    pub(super) fn maximum(self) -> f64 {
        // (2^precision − 1) × 2^(largest − precision + 1)
        let fraction = ((1u64 << (self.precision - 1)) - 1) << (53 - self.precision);
        f64::from_bits(((self.largest + 1023) as u64) << 52 | fraction)
    }
}

/// The bits of an f16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct F16Bits(pub(super) u16);

/// The bits of a bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bf16Bits(pub(super) u16);

/// A floating-point value. f64 represents every value of every format exactly.
pub(super) trait Float: Copy {
    /// A Rust type that represents every value, for comparisons.
    type Native: PartialOrd + From<u8>;
    const FORMAT: Format;
    /// The canonical NaN: the NaN result of arithmetic on NVIDIA's GPUs, whatever the operands' payload.
    const NAN: Self;
    const ZERO: Self;
    const ONE: Self;
    fn to_f64(self) -> f64;
    fn native(self) -> Self::Native;
    /// Converts a value that the format represents exactly; NaN converts to [`Self::NAN`].
    fn from_f64(value: f64) -> Self;
    /// Rounds to the nearest value of the format, ties to even; NaN converts to [`Self::NAN`].
    fn nearest(value: f64) -> Self;
    fn is_nan(self) -> bool;
    fn is_negative(self) -> bool;
    /// Whether it is a subnormal number; zero is not.
    fn is_subnormal(self) -> bool;
    /// The same magnitude with this sign.
    fn with_sign(self, negative: bool) -> Self;

    /// [`Self::NAN`] for every NaN; other values unchanged.
    fn canonical(self) -> Self;

    /// Zero of the same sign for a subnormal number; other values unchanged.
    fn flushed(self) -> Self;

    /// Clamped to [+0, 1]; +0 for −0 and NaN.
    #[inline(always)]
    fn saturated(self) -> Self {
        let (value, zero, one) = (self.native(), 0.into(), 1.into());
        let at_most_one = if value > one { Self::ONE } else { self };
        if value > zero { at_most_one } else { Self::ZERO }
    }
}

macro_rules! native {
    ($($type:ident, $format:ident, $nan:literal;)*) => {$(
        impl Float for $type {
            const FORMAT: Format = Format::$format;
            const NAN: Self = $type::from_bits($nan);
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            type Native = $type;

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn native(self) -> $type {
                self
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                (value as $type).canonical()
            }

            #[inline(always)]
            fn nearest(value: f64) -> Self {
                Self::from_f64(value)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                $type::is_nan(self)
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }

            #[inline(always)]
            fn is_subnormal(self) -> bool {
                self != 0.0 && self.abs() < $type::MIN_POSITIVE
            }

            #[inline(always)]
            fn canonical(self) -> Self {
                // On the bits: the compiler need not distinguish NaNs, so it may drop a choice between two of them.
                let bits = self.to_bits();
                let is_nan = bits << 1 > $type::INFINITY.to_bits() << 1;
                $type::from_bits(if is_nan { $nan } else { bits })
            }

            #[inline(always)]
            fn flushed(self) -> Self {
                if self.abs() < $type::MIN_POSITIVE { (0.0 as $type).copysign(self) } else { self }
            }

            #[inline(always)]
            fn with_sign(self, negative: bool) -> Self {
                self.copysign(if negative { -1.0 } else { 1.0 })
            }
        }
    )*};
}

native! {
    f32, F32, 0x7fff_ffff;
    f64, F64, 0x7ff8_0000_0000_0000;
}

macro_rules! half {
    ($($type:ident, $format:ident, mantissa $mantissa:literal, one $one:literal, $to_f32:ident;)*) => {$(
        impl Float for $type {
            const FORMAT: Format = Format::$format;
            const NAN: Self = $type(0x7fff);
            const ZERO: Self = $type(0);
            const ONE: Self = $type($one);

            type Native = f32;

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from($to_f32(self.0))
            }

            #[inline(always)]
            fn native(self) -> f32 {
                $to_f32(self.0)
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                Self::nearest(value)
            }

            #[inline(always)]
            fn nearest(value: f64) -> Self {
                $type(half_nearest::<$mantissa>(value))
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self.0 & 0x7fff > 0x7fff >> $mantissa << $mantissa
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                self.0 >> 15 == 1
            }

            #[inline(always)]
            fn is_subnormal(self) -> bool {
                let magnitude = self.0 & 0x7fff;
                magnitude != 0 && magnitude >> $mantissa == 0
            }

            #[inline(always)]
            fn canonical(self) -> Self {
                if self.is_nan() { Self::NAN } else { self }
            }

            #[inline(always)]
            fn flushed(self) -> Self {
                if self.0 & 0x7fff < 1 << $mantissa { $type(self.0 & 0x8000) } else { self }
            }

            #[inline(always)]
            fn with_sign(self, negative: bool) -> Self {
                $type(self.0 & 0x7fff | u16::from(negative) << 15)
            }
        }
    )*};
}

half! {
    F16Bits, F16, mantissa 10, one 0x3c00, f16_to_f32;
    Bf16Bits, BF16, mantissa 7, one 0x3f80, bf16_to_f32;
}

#[inline(always)]
fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    let value = if magnitude >= 0x7c00 {
        // Infinity and NaN: the exponent is all ones in f32 too.
        magnitude << 13 | 0x7f80_0000
    } else {
        // Reinterpret with f32's bias, then correct by a power of two; this is exact for subnormal numbers too.
        (f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23)).to_bits()
    };
    f32::from_bits(sign | value)
}

#[inline(always)]
fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to the nearest 16-bit float with `FRACTION` fraction bits, ties to even.
#[inline(always)]
fn half_nearest<const FRACTION: u32>(value: f64) -> u16 {
    let largest_exponent = (1u64 << (14 - FRACTION)) - 1;
    let infinity = 0x7fff >> FRACTION << FRACTION;
    let magnitude = value.to_bits() & !(1 << 63);
    // Adding half a unit in the last place, less one bit if the last bit is 0, carries exactly where rounding goes up.
    let cut = 52 - FRACTION;
    let last = magnitude >> cut & 1;
    let rounded = (magnitude + (1 << (cut - 1)) - 1 + last) >> cut;
    let normal = rounded.wrapping_sub((1023 - largest_exponent) << FRACTION).min(infinity);
    // A subnormal number is a multiple of the smallest one, which is the unit in the last place of this sum.
    let smallest_normal = f64::from_bits((1023 - largest_exponent + 1) << 52);
    let aligning = f64::from_bits((1023 - largest_exponent + 1 + u64::from(cut)) << 52);
    let subnormal = (f64::from_bits(magnitude) + aligning).to_bits() & 0x7fff;
    let bits = if f64::from_bits(magnitude) < smallest_normal { subnormal } else { normal };
    let sign = (value.to_bits() >> 48) as u16 & 0x8000;
    if value.is_nan() { 0x7fff } else { sign | bits as u16 }
}
