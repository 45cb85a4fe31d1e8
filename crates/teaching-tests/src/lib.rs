//! Tests whose failure is one sentence in the terms of the homework, without a backtrace: `Error: max_rayon: c[3][7] is
//! 12, expected 200 (a = 200, b = 12), for a 10 × 10 matrix`.
//!
//! A test returns `Result<(), Failure>`. [`check`] names the function, [`for_any`] runs a check for random inputs and
//! fails with the sentence of the smallest input that fails.

use std::fmt;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

/// The sentence that a test fails with. `Debug`, by which the harness prints it, is the sentence itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure(String);

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<S: Into<String>> From<S> for Failure {
    fn from(sentence: S) -> Self {
        Self(sentence.into())
    }
}

/// The result of a check of `function`, whose name begins the sentence.
///
/// # Errors
/// If the check has failed.
pub fn check(function: &str, result: Result<(), impl fmt::Display>) -> Result<(), Failure> {
    result.map_err(|difference| Failure(format!("{function}: {difference}")))
}

/// Checks `cases` random inputs.
///
/// # Errors
/// The failure of the smallest input that fails, as far as it can be found.
pub fn for_any<S: Strategy>(
    cases: u32,
    inputs: S,
    check: impl Fn(S::Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config)
        .run(&inputs, |input| check(input).map_err(|Failure(sentence)| TestCaseError::fail(sentence)));
    run.map_err(|error| match error {
        TestError::Fail(reason, _) => Failure(reason.message().to_owned()),
        TestError::Abort(reason) => Failure(format!("no input could be made: {}", reason.message())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_printed_as_its_sentence() {
        let failure = check("max_cpu", Err("c[0][1] is 3, expected 4")).unwrap_err();
        assert_eq!(format!("{failure:?}"), "max_cpu: c[0][1] is 3, expected 4");
        assert_eq!(check("max_cpu", Ok::<(), String>(())), Ok(()));
    }

    #[test]
    fn the_smallest_input_is_found() {
        let below_100 = |x: u32| if x < 100 { Ok(()) } else { Err(format!("{x} is too large").into()) };
        let failure = for_any(64, 0..1000_u32, below_100).unwrap_err();
        assert_eq!(format!("{failure:?}"), "100 is too large");
        assert_eq!(for_any(64, 0..100_u32, below_100), Ok(()));
    }

    #[test]
    fn a_panic_of_the_code_under_test_is_a_failure_too() {
        let failure = for_any(8, 0..4_u32, |x| {
            assert!(x > 9, "index out of bounds");
            Ok(())
        });
        assert!(format!("{:?}", failure.unwrap_err()).contains("index out of bounds"));
    }
}
