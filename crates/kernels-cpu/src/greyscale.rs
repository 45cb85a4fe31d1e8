//! The input stage of a neuron for greyscale values: normalize, multiply by the weight and
//! activate, as separate steps or fused into one pass.
//!
//! Roofline: a separate step moves 8 or 12 bytes per element for one or two operations, so it is
//! bound by memory bandwidth. The fused pass moves 12 bytes instead of the three steps' 28, and the
//! hyperbolic tangent's arithmetic overlaps with the memory traffic.

use std::mem::MaybeUninit;

use pulp::Simd;

use crate::InstructionSet;
use crate::elementwise::{self, Binary, Unary};
use crate::tanh::tanh_of;

/// The largest greyscale value.
const WHITE: f32 = 255.0;

/// Writes x\[i\] / 255 to every element of `out`, which is then fully initialized.
///
/// # Panics
/// If the slices differ in length.
pub fn normalize(set: InstructionSet, x: &[f32], out: &mut [MaybeUninit<f32>]) {
    elementwise::map::<Normalize>(set, x, out);
}

/// Writes x\[i\] · w\[i\] to every element of `out`, which is then fully initialized.
///
/// # Panics
/// If the slices differ in length.
pub fn weigh(set: InstructionSet, x: &[f32], w: &[f32], out: &mut [MaybeUninit<f32>]) {
    elementwise::zip_map::<Weigh>(set, x, w, out);
}

/// Writes tanh(x\[i\] / 255 · w\[i\]) to every element of `out`, which is then fully initialized.
///
/// It multiplies by 1 / 255 instead of dividing. Including all roundings, the error is at most 5
/// units in the last place against f64 unless x / 255 is subnormal.
///
/// # Panics
/// If the slices differ in length.
pub fn normalize_weigh_activate(set: InstructionSet, x: &[f32], w: &[f32], out: &mut [MaybeUninit<f32>]) {
    elementwise::zip_map::<NormalizeWeighActivate>(set, x, w, out);
}

struct Normalize;

impl Unary for Normalize {
    #[inline(always)]
    fn apply<S: Simd>(x: f32) -> f32 {
        x / WHITE
    }
}

struct Weigh;

impl Binary for Weigh {
    #[inline(always)]
    fn apply<S: Simd>(x: f32, w: f32) -> f32 {
        x * w
    }
}

struct NormalizeWeighActivate;

impl Binary for NormalizeWeighActivate {
    #[inline(always)]
    fn apply<S: Simd>(x: f32, w: f32) -> f32 {
        tanh_of::<S>(x * (1.0 / WHITE) * w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::testing::{error_in_ulps, written};
    use proptest::prelude::*;

    /// The values' bits, with every NaN replaced by the same one.
    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }).collect()
    }

    /// Pairs of a greyscale value and a weight. One pair in ten is replaced by two arbitrary floats.
    fn pairs() -> impl Strategy<Value = Vec<(f32, f32)>> {
        let usual = ((0..256_u16).prop_map(f32::from), -1.5..1.5_f32);
        let unusual = (any::<f32>(), any::<f32>());
        prop::collection::vec(prop_oneof![9 => usual, 1 => unusual], 0..200)
    }

    proptest! {
        #[test]
        fn greyscale_steps_agree_with_their_definition_on_every_instruction_set(pairs in pairs(), offset in 0..16_usize) {
            let (x, w): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
            let quotients: Vec<f32> = x.iter().map(|x| x / 255.0).collect();
            let products: Vec<f32> = pairs.iter().map(|(x, w)| x * w).collect();
            for set in InstructionSet::available() {
                let got = written(x.len(), offset, |out| normalize(set, &x, out));
                prop_assert_eq!(bits(&got), bits(&quotients), "{}", set.name());
                let got = written(x.len(), offset, |out| weigh(set, &x, &w, out));
                prop_assert_eq!(bits(&got), bits(&products), "{}", set.name());
            }
        }

        #[test]
        fn greyscale_in_one_pass_agrees_with_f64_on_every_instruction_set(pairs in pairs(), offset in 0..16_usize) {
            let (x, w): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
            for set in InstructionSet::available() {
                let got = written(x.len(), offset, |out| normalize_weigh_activate(set, &x, &w, out));
                for (&(x, w), got) in pairs.iter().zip(got) {
                    let normalized = f64::from(x) / 255.0;
                    let exact = (normalized * f64::from(w)).tanh();
                    // A subnormal x / 255 has fewer digits, and a large w makes that visible.
                    let is_normal = normalized == 0.0 || normalized.abs() > f64::from(f32::MIN_POSITIVE);
                    let agrees = if is_normal { error_in_ulps(got, exact) <= 5.0 } else { got.abs() <= 1.0 };
                    prop_assert!(agrees || exact.is_nan() && got.is_nan(), "{}: {x}, {w}: {got}", set.name());
                }
            }
        }
    }
}
