//! The homework's functions of part 1. A failing test says in one sentence which function is wrong,
//! for which input, and what was expected.

mod batches;
mod lists;
mod random_weights;
mod sigmoid;
mod sigmoid_prime;
mod zeros;

use std::fmt::Debug;

use teaching_tests::Failure;

/// Fails with "WHAT is …, expected …".
fn equal<T: PartialEq<U> + Debug, U: Debug>(what: &str, found: T, expected: U) -> Result<(), Failure> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what} is {}, expected {}", in_a_line(&found), in_a_line(&expected)).into()),
    }
}

/// A value on one line; an array without its strides.
fn in_a_line(value: &impl Debug) -> String {
    let text = format!("{value:?}").split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.find(", shape=").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Fails with "WHAT is …, expected … ± …", also for NaN.
fn close(what: &str, found: f64, expected: f64, tolerance: f64) -> Result<(), Failure> {
    match (found - expected).abs() <= tolerance {
        true => Ok(()),
        false => Err(format!("{what} is {found}, expected {expected} ± {tolerance:e}").into()),
    }
}

/// Fails with the sentence unless the condition holds.
fn holds(condition: bool, sentence: impl FnOnce() -> String) -> Result<(), Failure> {
    if condition { Ok(()) } else { Err(sentence().into()) }
}
