//! Softmax at its documented limits: the maximum number of units, and mismatched shapes.

use std::panic::{UnwindSafe, catch_unwind};

use kernels_cpu::InstructionSet;
use kernels_cpu::product::PaddedMatrix;
use kernels_cpu::softmax::{MAX_UNITS, softmax_cross_entropy};

/// Equal sums give the largest total of exponentials, one for each unit. The product of 256 such
/// totals is 2¹²⁸⁰, which overflows an f64.
fn check_equal_sums() {
    let samples = 600;
    for set in InstructionSet::available() {
        let mut sums = PaddedMatrix::<f32>::zeros(MAX_UNITS, 608);
        let (mut targets, mut errors) = (sums.clone(), sums.clone());
        targets.row_mut(3)[..samples].fill(1.0);
        let loss = softmax_cross_entropy(set, &mut sums, &targets, &mut errors, samples);
        let expected = samples as f64 * (MAX_UNITS as f64).ln();
        assert!((loss - expected).abs() <= 1e-6 * expected, "{}: {loss} instead of {expected}", set.name());
        let share = (1.0 / MAX_UNITS as f64) as f32;
        assert!((0..MAX_UNITS).all(|unit| sums.row(unit)[..samples].iter().all(|&a| a == share)), "{}", set.name());
        assert!(errors.row(3)[..samples].iter().all(|&error| error == share - 1.0), "{}", set.name());
    }
}

#[test]
fn the_loss_of_many_equal_sums_is_the_logarithm_of_their_number() {
    check_equal_sums();
}

/// Checks that `body` panics at the check with these words in its message.
#[track_caller]
fn assert_rejected(words: &str, body: impl FnOnce() + UnwindSafe) {
    let panic = catch_unwind(body).expect_err("it is rejected");
    let message = panic.downcast_ref::<&str>().expect("the check's message is a literal");
    assert!(message.contains(words), "{message}");
}

/// Runs softmax on `samples` samples, with sums, targets and errors of these shapes, units × samples.
fn run(sums: (usize, usize), targets: (usize, usize), errors: (usize, usize), samples: usize) {
    let zeros = |(units, samples)| PaddedMatrix::<f32>::zeros(units, samples);
    let (mut sums, targets, mut errors) = (zeros(sums), zeros(targets), zeros(errors));
    softmax_cross_entropy(InstructionSet::Portable, &mut sums, &targets, &mut errors, samples);
}

#[test]
fn softmax_panics_at_sizes_that_do_not_fit() {
    let most = (MAX_UNITS, 32);
    run(most, most, most, 32);
    let too_many = (MAX_UNITS + 1, 32);
    assert_rejected("too many units", || run(too_many, too_many, too_many, 32));
    assert_rejected("incomplete blocks", || run((3, 20), (3, 20), (3, 20), 20));
    assert_rejected("more samples than columns", || run(most, most, most, 33));
    for other in [(MAX_UNITS - 1, 32), (MAX_UNITS, 16)] {
        assert_rejected("shapes differ", || run(most, other, most, 16));
        assert_rejected("shapes differ", || run(most, most, other, 16));
    }
}
