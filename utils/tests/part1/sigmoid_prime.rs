//! `sigmoid_prime` is the derivative of `sigmoid`.

use ndarray::Array1;
use proptest::prelude::*;
use utils::{sigmoid, sigmoid_prime, sigmoid_prime_scalar, sigmoid_scalar};

#[test]
fn part1_sigmoid_prime_agrees_with_central_differences() {
    // A central difference has a truncation error of about h²·|σ‴|/6 ≤ h²/48 and a rounding error of ε/h.
    let h = 1e-5;
    let x = Array1::linspace(-20.0, 20.0, 401);
    let differences = (sigmoid(&(&x + h)) - sigmoid(&(&x - h))) / (2.0 * h);
    let error = (sigmoid_prime(&x) - differences).mapv(f64::abs);
    assert!(error.iter().all(|&error| error < 1e-10), "{error}");
}

proptest! {
    #[test]
    fn part1_sigmoid_prime_is_sigmoid_times_its_complement(x in -700.0..700.0_f64) {
        // σ(-x) is 1 - σ(x) without cancellation.
        let expected = sigmoid_scalar(x) * sigmoid_scalar(-x);
        let found = sigmoid_prime_scalar(x);
        prop_assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected, "{found} instead of {expected}");
    }
}
