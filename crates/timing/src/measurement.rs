use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Instant;

use serde::Serialize;

/// Minimum and median time of one call over several repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The fastest repeat in seconds, which other work disturbed least.
    pub min: f64,
    /// The median repeat, in seconds: the typical time.
    pub median: f64,
    /// Number of timed repeats.
    pub repeats: usize,
}

impl Measurement {
    /// Statistics of the given times in seconds; `None` if there are none.
    ///
    /// ```
    /// let measurement = timing::Measurement::of(vec![3.0, 1.0, 2.0, 10.0]).unwrap();
    /// assert_eq!((measurement.min, measurement.median, measurement.repeats), (1.0, 2.5, 4));
    /// ```
    pub fn of(mut seconds: Vec<f64>) -> Option<Self> {
        seconds.sort_by(f64::total_cmp);
        let repeats = seconds.len();
        let (min, upper, lower) = (*seconds.first()?, *seconds.get(repeats / 2)?, *seconds.get((repeats - 1) / 2)?);
        Some(Self { min, median: f64::midpoint(lower, upper), repeats })
    }
}

/// Times `repeats` calls of `work`, after one warm-up call for caches, pages and threads.
///
/// A `black_box` keeps the compiler from optimizing the result of `work` away. The result is
/// dropped outside the timed span.
pub fn measure<R>(repeats: NonZeroUsize, work: impl FnMut() -> R) -> Measurement {
    Measurement::of(seconds_of_repeats(repeats, work)).expect("there is at least one repeat")
}

/// Seconds of every repeat, in execution order, measured as in [`measure`].
pub fn seconds_of_repeats<R>(repeats: NonZeroUsize, mut work: impl FnMut() -> R) -> Vec<f64> {
    drop(black_box(work()));
    let time = || {
        let start = Instant::now();
        let result = black_box(work());
        let seconds = start.elapsed().as_secs_f64();
        drop(result);
        seconds
    };
    std::iter::repeat_with(time).take(repeats.get()).collect()
}

/// A time in ns, µs, ms or s, with four significant digits.
///
/// ```
/// assert_eq!(timing::format_seconds(0.000_123_46), "123.5 µs");
/// assert_eq!(timing::format_seconds(12.3456), "12.35 s");
/// ```
pub fn format_seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    format!("{} {unit}", four_digits(value))
}

/// Formats a value with four significant digits; below 1, with three decimals; from 10⁴ on, with
/// all integer digits.
pub(crate) fn four_digits(value: f64) -> String {
    // An infinite value's digit count saturates.
    let before_point = if value >= 1.0 { (value.log10().floor() as usize).saturating_add(1) } else { 1 };
    format!("{value:.*}", 4_usize.saturating_sub(before_point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_repeat_is_timed_after_one_warm_up() {
        let mut calls = 0;
        let measurement = measure(NonZeroUsize::MIN.saturating_add(4), || calls += 1);
        assert_eq!((calls, measurement.repeats), (6, 5));
        assert!(measurement.min <= measurement.median);
    }

    #[test]
    fn times_are_printed_in_the_unit_that_suits_them() {
        let shown = [0.0, 5e-10, 9.5e-6, 1e-3, 0.25, 1.0, 100.0, 123_456.0].map(format_seconds);
        assert_eq!(
            shown,
            ["0.000 ns", "0.500 ns", "9.500 µs", "1.000 ms", "250.0 ms", "1.000 s", "100.0 s", "123456 s"]
        );
        assert_eq!(format_seconds(f64::INFINITY), "inf s");
    }
}
