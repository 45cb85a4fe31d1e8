//! Tests whose failure is one sentence in the terms of the homework, without a backtrace: `Error: max_rayon: c[3][7] is
//! 12, expected 200 (a = 200, b = 12), for a 10 × 10 matrix`.
//!
//! A test returns `Result<(), Failure>`. [`check`] names the function, [`for_any`] runs a check for random inputs and
//! fails with the sentence of the smallest input that fails. [`call`] makes a panic of the code under test a sentence,
//! and [`not_written!`] stands where that code is still to be written.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

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
pub fn check<T>(function: &str, result: Result<T, impl fmt::Display>) -> Result<T, Failure> {
    result.map_err(|difference| Failure(format!("{function}: {difference}")))
}

/// Panics with "not written yet: NAME".
#[macro_export]
macro_rules! not_written {
    ($name:literal) => {
        panic!(concat!("not written yet: ", $name))
    };
}

thread_local! {
    /// Whether panics of this thread are the caller's to tell.
    static IS_SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Calls the code under test.
///
/// # Errors
/// Its error in words; or the message of its panic, which is not printed.
pub fn call<T, E: fmt::Display>(function: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_SILENT.get() {
                others(info);
            }
        }));
    });
    let before = IS_SILENT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(function));
    IS_SILENT.set(before);
    match result {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(payload) => Err(match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(message), _) => (*message).to_owned(),
            (_, Some(message)) => message.clone(),
            _ => "it panics".to_owned(),
        }),
    }
}

/// The fastest time of each of two functions, which run one after the other: at least three times, then until the first
/// is faster than the second, or until `limit` has passed. What else the machine does slows both.
pub fn best_times(mut functions: [&mut dyn FnMut(); 2], limit: Duration) -> [Duration; 2] {
    let (start, mut best) = (Instant::now(), [Duration::MAX; 2]);
    let mut rounds = 0;
    while rounds < 3 || (start.elapsed() < limit && best[0] >= best[1]) {
        for (function, best) in functions.iter_mut().zip(&mut best) {
            let start = Instant::now();
            function();
            *best = start.elapsed().min(*best);
        }
        rounds += 1;
    }
    best
}

/// The seed of random inputs: `HOMEWORK_SEED`, so that a grader chooses inputs that were not published; else 0.
pub fn seed_of_the_tests() -> u64 {
    let text = std::env::var("HOMEWORK_SEED").ok();
    text.map_or(0, |text| text.parse::<u32>().expect("HOMEWORK_SEED is a number below 2³²").into())
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
    let seed = u8::try_from(seed_of_the_tests() % 256).expect("it is below 256");
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let run = TestRunner::new_with_rng(config, rng)
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
        let failure = check("max_cpu", Err::<(), _>("c[0][1] is 3, expected 4")).unwrap_err();
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
    fn a_call_has_a_result_an_error_or_a_panic() {
        assert_eq!(call(|| Ok::<_, String>(3)), Ok(3));
        assert_eq!(call(|| Err::<(), _>("it failed")), Err("it failed".to_owned()));
        assert_eq!(
            call(|| -> Result<(), String> { not_written!("max_cpu") }),
            Err("not written yet: max_cpu".to_owned())
        );
        let at = 7;
        let out_of_bounds = || -> Result<usize, String> { Ok([1, 2, 3][std::hint::black_box(at)]) };
        assert!(call(out_of_bounds).unwrap_err().contains("the len is 3 but the index is 7"));
    }

    #[test]
    fn the_best_times_are_of_at_least_three_rounds() {
        let (mut short, mut long) = (0, 0);
        let mut waits = || {
            long += 1;
            std::thread::sleep(Duration::from_millis(2));
        };
        let times = best_times([&mut || short += 1, &mut waits], Duration::from_secs(60));
        assert!(times[0] < times[1], "{times:?}");
        assert_eq!((short, long), (3, 3));
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
