//! Values of matrix elements.

use super::matrix::half_bits;
use crate::program::instruction::FragmentElement;

impl FragmentElement {
    /// The value of the lowest bits of a register.
    pub(super) fn value(self, bits: u64) -> f64 {
        match self {
            Self::F16 => small_float(bits as u16, 5, 10),
            Self::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
            // tf32 has 10 fraction bits.
            Self::Tf32 => f64::from(f32::from_bits(bits as u32 & 0xffff_e000)),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
            Self::S8 => f64::from(bits as i8),
            Self::U8 => f64::from(bits as u8),
            Self::S32 => f64::from(bits as i32),
            Self::E5m2 => small_float(u16::from(bits as u8), 5, 2),
            // It has no infinity, and one NaN per sign.
            Self::E4m3 if bits as u8 & 0x7f == 0x7f => f64::NAN,
            Self::E4m3 if bits as u8 & 0x78 == 0x78 => {
                let value = 256.0 * (1.0 + f64::from(bits as u8 & 7) / 8.0);
                if bits as u8 & 0x80 == 0 { value } else { -value }
            }
            Self::E4m3 => small_float(u16::from(bits as u8), 4, 3),
        }
    }

    /// A sum as the bits of an element of D. Sums of integers are exact. An overflow wraps around
    /// unless the type saturates.
    pub(super) fn bits(self, sum: f64, saturates: bool) -> u64 {
        match self {
            Self::F16 => half_bits(sum),
            Self::F64 => sum.to_bits(),
            Self::S32 if saturates => u64::from(sum as i32 as u32),
            Self::S32 => u64::from(sum as i64 as u32),
            _ => u64::from((sum as f32).to_bits()),
        }
    }
}

/// The value of a float with the given numbers of exponent and fraction bits, with infinities and
/// NaNs as in IEEE 754.
fn small_float(bits: u16, exponent_bits: i32, fraction_bits: i32) -> f64 {
    let bits = i32::from(bits);
    let fraction = f64::from(bits & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    let exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(1 - bias),
        _ if exponent == (1 << exponent_bits) - 1 && fraction == 0.0 => f64::INFINITY,
        _ if exponent == (1 << exponent_bits) - 1 => f64::NAN,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - bias),
    };
    if bits >> (exponent_bits + fraction_bits) & 1 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use crate::program::instruction::FragmentElement;
    use crate::semantics::{self, Compute, LANES};

    #[test]
    fn values_are_those_of_conversions() {
        let converted = |form: &[&str], bits: u64| {
            let Compute::Value(convert) = semantics::operation("cvt", form).unwrap().compute else {
                panic!("{form:?}")
            };
            let (mut to, from) = ([0; LANES], [bits; LANES]);
            convert.compute(&mut to, [&from; 4]);
            to[0]
        };
        let is_same = |value: f64, bits: u64| {
            let expected = f32::from_bits(bits as u32);
            value == f64::from(expected) && value.is_sign_negative() == expected.is_sign_negative()
                || value.is_nan() && expected.is_nan()
        };
        for bits in 0..=0xffff_u64 {
            assert!(is_same(FragmentElement::F16.value(bits), converted(&["f32", "f16"], bits)), "{bits:#x}");
        }
        for (element, form) in [(FragmentElement::E4m3, "e4m3x2"), (FragmentElement::E5m2, "e5m2x2")] {
            for bits in 0..=0xff_u64 {
                let half = converted(&["rn", "f16x2", form], bits) & 0xffff;
                assert!(is_same(element.value(bits), converted(&["f32", "f16"], half)), "{element:?} {bits:#x}");
            }
        }
    }
}
