//! Flush to zero gives the same bits on every instruction set and keeps products normal.

use kernels_cpu::InstructionSet;
use kernels_cpu::flush_to_zero::{THRESHOLD, flush_in_place, flushed};
use kernels_cpu::product::PaddedMatrix;
use kernels_cpu::softmax::softmax_cross_entropy;
use proptest::prelude::*;

/// The definition: values below the threshold become zero; all others, including NaN, keep their bits.
fn expected(value: f32) -> f32 {
    if f64::from(value).abs() < 2.0_f64.powi(-58) { 0.0 } else { value }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn check(values: &[f32]) {
    let want: Vec<f32> = values.iter().copied().map(expected).collect();
    assert_eq!(bits(&values.iter().copied().map(flushed).collect::<Vec<_>>()), bits(&want));
    for set in InstructionSet::available() {
        let mut got = values.to_vec();
        flush_in_place(set, &mut got);
        assert_eq!(bits(&got), bits(&want), "{}", set.name());
    }
}

#[test]
fn values_on_both_sides_of_the_threshold_have_the_bits_of_the_definition() {
    let borders = [THRESHOLD, THRESHOLD.next_down(), f32::MIN_POSITIVE, f32::MIN_POSITIVE.next_down(), 1e-45, 0.0];
    let others = [1.0, f32::MAX, f32::INFINITY, f32::NAN, f32::from_bits(0x7f80_0001), 1e-17, 3e-18];
    let values: Vec<f32> = borders.into_iter().chain(others).flat_map(|value| [value, -value]).collect();
    // Longer than any register. Each value occurs in all lanes and in the remainder.
    (0..=2 * values.len()).for_each(|length| check(&values.repeat(3)[..length]));
}

proptest! {
    #[test]
    fn any_values_have_the_bits_of_the_definition(values in prop::collection::vec(any::<u32>(), 0..70)) {
        check(&values.into_iter().map(f32::from_bits).collect::<Vec<_>>());
    }

    #[test]
    fn the_product_of_two_flushed_values_is_zero_or_normal(a: u32, b: u32) {
        let product = flushed(f32::from_bits(a)) * flushed(f32::from_bits(b));
        prop_assert!(!product.is_subnormal(), "{product:e}");
    }
}

/// Probabilities are flushed at a much lower threshold than the errors, since only their quotients
/// must be normal.
#[test]
fn the_errors_of_softmax_are_zero_or_above_the_threshold() {
    let (units, samples) = (10, 40);
    for set in InstructionSet::available() {
        let mut sums = PaddedMatrix::<f32>::zeros(units, 48);
        let (mut targets, mut errors) = (sums.clone(), sums.clone());
        targets.row_mut(0)[..samples].fill(1.0);
        for unit in 0..units {
            let row = sums.row_mut(unit);
            (0..samples).for_each(|sample| row[sample] = -((unit * (sample + 1)) as f32));
        }
        softmax_cross_entropy(set, &mut sums, &targets, &mut errors, samples);
        for unit in 1..units {
            for (sample, (&error, &probability)) in
                errors.row(unit).iter().zip(sums.row(unit)).take(samples).enumerate()
            {
                assert_eq!(error.to_bits(), expected(probability).to_bits(), "{} {unit} {sample}", set.name());
            }
        }
        // e⁻⁶⁰ and e⁻³⁶⁰.
        assert!(sums.row(2)[29] > 1e-27 && sums.row(9)[39] == 0.0, "{}: probabilities", set.name());
        assert!(!sums.padded().iter().any(|probability| probability.is_subnormal()), "{}", set.name());
    }
}
