//! Seeds for random tests.

use std::cell::Cell;

/// The environment variable with a number that changes the inputs of all random tests.
const VARIABLE: &str = "TEST_SEED";

/// The seed of a random test: `of_test`, or a different seed for each number in `TEST_SEED`.
///
/// The number is printed once per test. libtest shows it if the test fails.
///
/// # Panics
/// If `TEST_SEED` is not a number below 2⁶⁴.
pub fn seed(of_test: u64) -> u64 {
    let text = std::env::var(VARIABLE).unwrap_or_else(|_| "0".to_owned());
    let number: u64 = text.parse().unwrap_or_else(|_| panic!("{VARIABLE} must be a number below 2⁶⁴, got {text:?}"));
    thread_local!(static IS_SAID: Cell<bool> = const { Cell::new(false) });
    if !IS_SAID.replace(true) {
        println!("{VARIABLE}={number} repeats these inputs");
    }
    // A large odd factor, so neighboring tests do not get each other's seeds.
    of_test.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
