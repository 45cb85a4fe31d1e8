//! The logistic sigmoid on a slice.
//!
//! Idea: e⁻|ˣ| never overflows; σ(x) = 1 / (1 + e⁻|ˣ|) for x ≥ 0, and e⁻|ˣ| / (1 + e⁻|ˣ|) below.
//! The exponential has no branch and no table, so a loop over it compiles to vector instructions: x
//! = n · ln 2 + r with |r| ≤ ln 2 / 2, a polynomial for eʳ, and 2ⁿ assembled from bits (Cody and
//! Waite, "Software Manual for the Elementary Functions", 1980).
//!
//! Error: at most 3 units in the last place of f32 against f64 for x ≥ −87. Below that, where σ(x)
//! < 1.7e-38, the result is between 0 and 2e-38. A NaN stays a NaN.

use pulp::Simd;

use crate::dispatch::{InstructionSet, is_fused};
use crate::elementwise::{self, Unary};

/// Replaces each x by σ(x) = 1 / (1 + e⁻ˣ).
pub fn sigmoid_in_place(set: InstructionSet, values: &mut [f32]) {
    elementwise::map_in_place::<Sigmoid>(set, values);
}

struct Sigmoid;

impl Unary for Sigmoid {
    #[inline(always)]
    fn apply<S: Simd>(x: f32) -> f32 {
        let e = exp_of_nonpositive::<S>(-x.abs());
        let numerator = if x < 0.0 { e } else { 1.0 };
        numerator / (1.0 + e)
    }
}

/// eˣ for x ≤ 0. Below −87.3, where the result would be subnormal, it is e^−87.3.
#[inline(always)]
pub(crate) fn exp_of_nonpositive<S: Simd>(x: f32) -> f32 {
    // Adding 1.5 · 2²³ leaves the nearest integer in the sum's low bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts. The first ends in zero bits, so n · LN2_HIGH is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // Taylor coefficients 1/k! up to r⁷. With |r| ≤ 0.347, the remainder is below 6e-9.
    const COEFFICIENTS: [f32; 7] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0];
    let fma = |a: f32, b: f32, c: f32| if is_fused::<S>() { a.mul_add(b, c) } else { a * b + c };

    // A comparison with NaN is false, so a NaN passes through.
    let x = if x < -87.3 { -87.3 } else { x };
    let shifted = fma(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x));
    let mut polynomial = COEFFICIENTS[0];
    for coefficient in &COEFFICIENTS[1..] {
        polynomial = fma(polynomial, r, *coefficient);
    }
    let polynomial = fma(polynomial, r, 1.0);
    // n is −126 … 0: 127 + n is a normal number's exponent.
    let exponent = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    polynomial * f32::from_bits(exponent << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(set: InstructionSet, x: f32) {
        let mut got = [x; 37]; // longer than any vector, to run both the body and its remainder
        sigmoid_in_place(set, &mut got);
        assert!(got.iter().all(|value| value.to_bits() == got[0].to_bits()), "{} at {x}", set.name());
        let expected = 1.0 / (1.0 + (-f64::from(x)).exp());
        let (got, nearest) = (f64::from(got[0]), expected as f32);
        if x < -87.0 {
            assert!((0.0..2e-38).contains(&got), "{} at {x}: {got}", set.name());
        } else {
            let ulp = f64::from(nearest.next_up() - nearest);
            let error = (got - expected).abs() / ulp;
            assert!(error <= 3.0, "{} at {x}: {got} instead of {expected}, {error} ulp", set.name());
        }
    }

    #[test]
    fn part1_sigmoid_is_within_3_ulp_on_every_instruction_set() {
        for set in InstructionSet::available() {
            for i in -200_000..=200_000 {
                check(set, i as f32 * 5e-4);
            }
            for x in
                [0.0, -0.0, f32::MIN_POSITIVE, 1e-45, 1e4, -1e4, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY]
            {
                check(set, x);
            }
        }
    }

    #[test]
    fn part1_sigmoid_keeps_nan() {
        for set in InstructionSet::available() {
            let mut values = [f32::NAN; 5];
            sigmoid_in_place(set, &mut values);
            assert!(values.iter().all(|value| value.is_nan()), "{}", set.name());
        }
    }
}
