//! The hyperbolic tangent on a slice.
//!
//! Idea: with h = ½ (e²ˣ − 1), tanh x = h / (h + 1), which loses no digits for x ≥ 0. The sign is
//! restored at the end. As for the sigmoid, x = n · ½ ln 2 + s with |s| ≤ ¼ ln 2. Then h = 2ⁿ · f +
//! ½ (2ⁿ − 1) with f = ½ (e²ˢ − 1), and f is a polynomial: s + s² · q(s). There is no branch and no
//! table, so the compiler vectorizes a loop over it.
//!
//! The coefficients of q minimize the largest relative error of f, 1.4e-8. They were found by
//! Lawson's iteration (Cheney, "Introduction to Approximation Theory", 1966), each rounded to f32
//! before the next ones were fitted.
//!
//! Error: at most 3 units in the last place of f32 against f64, 1e-7 absolute. The result is never
//! beyond ±1, is bitwise odd, and is x itself for a subnormal x. A NaN stays a NaN.

use std::mem::MaybeUninit;

use pulp::Simd;

use crate::dispatch::{InstructionSet, is_fused};
use crate::elementwise::{self, Unary};

/// Writes tanh x\[i\] to every element of `out`, which is then fully initialized.
///
/// # Panics
/// If the slices differ in length.
pub fn tanh(set: InstructionSet, x: &[f32], out: &mut [MaybeUninit<f32>]) {
    elementwise::map::<Tanh>(set, x, out);
}

/// Replaces each x by tanh x, with the same bits as [`tanh`].
pub fn tanh_in_place(set: InstructionSet, values: &mut [f32]) {
    elementwise::map_in_place::<Tanh>(set, values);
}

struct Tanh;

impl Unary for Tanh {
    #[inline(always)]
    fn apply<S: Simd>(x: f32) -> f32 {
        tanh_of::<S>(x)
    }
}

/// tanh x.
#[inline(always)]
pub(crate) fn tanh_of<S: Simd>(x: f32) -> f32 {
    // Adding 1.5 · 2²³ leaves the nearest integer in the sum's low bits. The extra 127 makes it a
    // float's exponent.
    const ROUND: f32 = 12_582_912.0 + 127.0;
    // ½ ln 2, and the same in two parts. The first ends in zero bits, so its product with n is exact.
    const HALF_LN2: f32 = 0.5 * std::f32::consts::LN_2;
    const HALF_LN2_HIGH: f32 = 0.346_679_7;
    const HALF_LN2_LOW: f32 = -1.060_972_2e-4;
    const Q: [f32; 5] = [4.447_373_7e-2, 1.338_584_3e-1, 3.333_348_6e-1, 6.666_619e-1, 1.0];
    let fma = |a: f32, b: f32, c: f32| if is_fused::<S>() { a.mul_add(b, c) } else { a * b + c };

    // From 9.1 on, the f32 nearest to tanh x is 1. A comparison with NaN is false, so a NaN passes
    // through.
    let size = x.abs();
    let size = if size > 9.1 { 9.1 } else { size };
    let shifted = fma(size, 2.0 * std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    // With one rounding, a single part is enough: ½ ln 2 happens to be within 3e-9 of an f32.
    let s = if is_fused::<S>() { n.mul_add(-HALF_LN2, size) } else { size - n * HALF_LN2_HIGH - n * HALF_LN2_LOW };
    let mut q = Q[0];
    for coefficient in &Q[1..] {
        q = fma(q, s, *coefficient);
    }
    let f = fma(s * s, q, s);
    let power = f32::from_bits(shifted.to_bits() << 23);
    let h = fma(power, f, fma(power, 0.5, -0.5));
    (h / (h + 1.0)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::testing::{error_in_ulps, written};

    fn tanh_on(set: InstructionSet, x: &[f32]) -> Vec<f32> {
        written(x.len(), 0, |out| tanh(set, x, out))
    }

    /// Every `step`-th float from `first` to `last`, in the order of their bits.
    fn floats(first: f32, last: f32, step: usize) -> impl Iterator<Item = f32> {
        (first.to_bits()..=last.to_bits()).step_by(step).map(f32::from_bits)
    }

    /// Every 61st float starting where tanh x begins to differ from x, with both signs.
    #[test]
    fn tanh_is_within_3_ulp_and_odd_on_every_instruction_set() {
        let x: Vec<f32> = floats(1e-4, 10.0, 61).collect();
        let negative: Vec<f32> = x.iter().map(|x| -x).collect();
        let exact: Vec<f64> = x.iter().map(|&x| f64::from(x).tanh()).collect();
        for set in InstructionSet::available() {
            let got = tanh_on(set, &x);
            for ((&x, &got), &exact) in x.iter().zip(&got).zip(&exact) {
                let (ulps, error) = (error_in_ulps(got, exact), (f64::from(got) - exact).abs());
                assert!(ulps <= 3.0 && error <= 1e-7, "{} at {x}: {got}, {ulps} ulp", set.name());
                assert!(got <= 1.0, "{} at {x}: {got}", set.name());
            }
            let mut in_place = x.clone();
            tanh_in_place(set, &mut in_place);
            assert!(in_place == got, "{}", set.name());
            for ((x, got), mirrored) in x.iter().zip(&got).zip(tanh_on(set, &negative)) {
                assert_eq!(mirrored.to_bits(), (-got).to_bits(), "{} at −{x}", set.name());
            }
        }
    }

    #[test]
    fn tanh_near_zero_is_within_2_ulp_and_x_itself_where_subnormal() {
        let x: Vec<f32> = floats(0.0, 1e-4, 999_983).chain([1e-45, f32::MIN_POSITIVE]).collect();
        for set in InstructionSet::available() {
            for (&x, got) in x.iter().zip(tanh_on(set, &x)) {
                let error = error_in_ulps(got, f64::from(x).tanh());
                assert!(error <= 2.0 && (x >= f32::MIN_POSITIVE || got == x), "{} at {x:e}: {got:e}", set.name());
            }
        }
    }

    #[test]
    fn tanh_at_the_ends_of_the_range() {
        let x = [0.0, -0.0, 9.1, 9.2, 1e4, -1e4, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY];
        let expected = [0.0, -0.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0_f32];
        for set in InstructionSet::available() {
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&tanh_on(set, &x)), bits(&expected), "{}", set.name());
            // Longer than any vector, to run both the body and its remainder.
            assert!(tanh_on(set, &[f32::NAN; 37]).iter().all(|value| value.is_nan()), "{}", set.name());
        }
    }
}
