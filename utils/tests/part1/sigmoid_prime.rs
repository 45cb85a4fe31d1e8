//! `sigmoid_prime` is the derivative of `sigmoid`.

use ndarray::Array1;
use teaching_tests::{Failure, for_any};
use utils::{sigmoid, sigmoid_prime, sigmoid_prime_scalar, sigmoid_scalar};

use crate::{close, holds};

#[test]
fn part1_sigmoid_prime_agrees_with_central_differences() -> Result<(), Failure> {
    // A central difference has a truncation error of about h²·|σ‴|/6 ≤ h²/48 and a rounding error of ε/h.
    let h = 1e-5_f64;
    let x = Array1::linspace(-20.0, 20.0, 401);
    let differences = (sigmoid(&(&x + h)) - sigmoid(&(&x - h))) / (2.0 * h);
    for ((&x, &found), &expected) in x.iter().zip(&sigmoid_prime(&x)).zip(&differences) {
        holds((found - expected).abs() < 1e-10, || {
            format!("sigmoid_prime: for x = {x}, it is {found}, expected the central difference {expected}")
        })?;
    }
    Ok(())
}

#[test]
fn part1_sigmoid_prime_is_sigmoid_times_its_complement() -> Result<(), Failure> {
    for_any(256, -700.0..700.0_f64, |x| {
        // σ(-x) is 1 - σ(x) without cancellation.
        let expected = sigmoid_scalar(x) * sigmoid_scalar(-x);
        let found = sigmoid_prime_scalar(x);
        close(&format!("sigmoid_prime_scalar: for x = {x}, it"), found, expected, 4.0 * f64::EPSILON * expected)
    })
}
