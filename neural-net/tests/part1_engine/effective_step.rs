//! The effective step has its documented value, and the learning rate for a given step produces
//! that step.

use neural_net::Hyperparameters;
use neural_net::preset::Preset;
use neural_net::training::{GradientScale, MAX_EFFECTIVE_STEP, Optimizer, USUAL_EFFECTIVE_STEP};
use proptest::prelude::*;

fn homework() -> Hyperparameters {
    Preset::Homework.hyperparameters()
}

#[test]
fn part1_the_effective_step_is_that_of_summed_gradients() {
    let of_batch = |batch_size| Hyperparameters { batch_size, ..homework() }.effective_step(50_000).unwrap();
    assert_eq!(homework().effective_step(50_000), Some(USUAL_EFFECTIVE_STEP));
    assert!(of_batch(Some(64)) < MAX_EFFECTIVE_STEP && of_batch(Some(80)) > MAX_EFFECTIVE_STEP);
    assert_eq!(of_batch(None), 5000.0);
    // A batch cannot be larger than the number of samples.
    assert_eq!(Hyperparameters { batch_size: Some(1000), ..homework() }.effective_step(30), Some(3.0));
    assert_eq!(Hyperparameters { momentum: 0.5, ..homework() }.effective_step(100), Some(2.0 * USUAL_EFFECTIVE_STEP));
    let mean = Hyperparameters { gradient: GradientScale::Mean, batch_size: None, ..homework() };
    assert_eq!(mean.effective_step(50_000), Some(0.1));
    assert_eq!(Hyperparameters { optimizer: Optimizer::Adam, ..homework() }.effective_step(50_000), None);
}

proptest! {
    #[test]
    fn part1_the_learning_rate_for_an_effective_step_leads_to_it(
        step in 1e-3..1e3_f64, batch in 1..2000_usize, samples in 1..2000_usize, is_mean: bool, momentum in 0.0..0.99_f64,
    ) {
        let gradient = if is_mean { GradientScale::Mean } else { GradientScale::Sum };
        let start = Hyperparameters { gradient, momentum, batch_size: Some(batch), ..homework() };
        let learning_rate = start.learning_rate_for(step, samples);
        let got = Hyperparameters { learning_rate, ..start }.effective_step(samples).unwrap();
        prop_assert!((got / step - 1.0).abs() < 1e-12, "{} instead of {}", got, step);
    }
}
