//! The two roofline kernels do as much work as they report.

use kernels_cpu::InstructionSet;
use kernels_cpu::roofline::{multiply_adds, sum_of_reads};
use proptest::prelude::*;

proptest! {
    #[test]
    fn every_value_is_read(values in prop::collection::vec(any::<i32>(), 0..300)) {
        let (a, b) = values.split_at(values.len() / 2);
        let sum = values[..2 * a.len()].iter().fold(0_i32, |sum, &value| sum.wrapping_add(value));
        for set in InstructionSet::available() {
            prop_assert_eq!(sum_of_reads(set, a, b), sum, "{}", set.name());
        }
    }

    #[test]
    fn every_step_is_done_in_every_lane(steps in 0_u64..20) {
        // x ← x / 2 + 1 is 2 − 2¹⁻ⁿ after n steps, exact in f32.
        let one = 2.0 - 2.0 * 0.5_f64.powi(steps as i32);
        for set in InstructionSet::available() {
            let (sum, operations) = multiply_adds(set, 0.5, 1.0, steps);
            let lanes = (multiply_adds(set, 0.5, 1.0, 1).1 / 2) as f64;
            prop_assert_eq!(operations as f64, 2.0 * steps as f64 * lanes);
            prop_assert!((f64::from(sum) - lanes * one).abs() < 1e-2, "{}: {sum}", set.name());
        }
    }
}
