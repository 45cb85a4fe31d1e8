//! Times of repeated calls, with their spread.

use serde::{Deserialize, Serialize};
use timing::Measurement;

/// The time of one call over several repeats, in seconds.
///
/// Invariant: `0 < min ≤ first quartile ≤ median ≤ third quartile`, all finite, and at least one repeat.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Times {
    /// The fastest repeat.
    pub min: f64,
    /// The median repeat.
    pub median: f64,
    /// The first and the third quartile. `None` if only the fastest and the median were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quartiles: Option<[f64; 2]>,
    /// Number of repeats.
    pub repeats: usize,
}

/// Values that violate the invariant of [`Times`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "fastest {min} s, median {median} s, n = {repeats} are not valid times: they must be positive, finite and in ascending order"
)]
pub struct InvalidTimes {
    min: f64,
    median: f64,
    repeats: usize,
}

#[derive(Deserialize)]
struct Unchecked {
    min: f64,
    median: f64,
    #[serde(default)]
    quartiles: Option<[f64; 2]>,
    repeats: usize,
}

impl TryFrom<Unchecked> for Times {
    type Error = InvalidTimes;

    fn try_from(unchecked: Unchecked) -> Result<Self, InvalidTimes> {
        let Unchecked { min, median, quartiles, repeats } = unchecked;
        let error = InvalidTimes { min, median, repeats };
        let [lower, upper] = quartiles.unwrap_or([median, median]);
        let in_order = 0.0 < min && min <= lower && lower <= median && median <= upper && upper.is_finite();
        if in_order && repeats > 0 { Ok(Self { min, median, quartiles, repeats }) } else { Err(error) }
    }
}

impl TryFrom<Measurement> for Times {
    type Error = InvalidTimes;

    fn try_from(measurement: Measurement) -> Result<Self, InvalidTimes> {
        let Measurement { min, median, repeats } = measurement;
        Unchecked { min, median, quartiles: None, repeats }.try_into()
    }
}

impl Times {
    /// The times of the given repeats, in seconds. `None` without repeats, or if one is not a
    /// positive finite number, for example because the clock's resolution is too coarse.
    ///
    /// ```
    /// let times = report::Times::of(vec![5.0, 1.0, 2.0, 3.0, 4.0]).unwrap();
    /// assert_eq!((times.min, times.median, times.quartiles, times.repeats), (1.0, 3.0, Some([2.0, 4.0]), 5));
    /// ```
    pub fn of(mut seconds: Vec<f64>) -> Option<Self> {
        seconds.sort_by(f64::total_cmp);
        let quartiles = Some([quantile(&seconds, 0.25)?, quantile(&seconds, 0.75)?]);
        let (min, median) = (*seconds.first()?, quantile(&seconds, 0.5)?);
        Unchecked { min, median, quartiles, repeats: seconds.len() }.try_into().ok()
    }

    /// The interquartile range, or the range from the fastest to the median if the quartiles are
    /// unknown. It contains the median.
    pub fn interval(&self) -> [f64; 2] {
        self.quartiles.unwrap_or([self.min, self.median])
    }
}

/// The quantile by linear interpolation between the order statistics (Hyndman and Fan's definition 7, as in R and
/// NumPy).
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (*sorted.get(position.floor() as usize)?, *sorted.get(position.ceil() as usize)?);
    // Equal neighbors return exactly their value: rounding must not move a quartile past the median.
    Some(if below == above { below } else { below + (above - below) * position.fract() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quartiles_are_those_of_r_and_numpy() {
        // numpy.quantile([1, 2, 4, 8], [0.25, 0.5, 0.75])
        let times = Times::of(vec![8.0, 1.0, 4.0, 2.0]).unwrap();
        assert_eq!((times.quartiles, times.median), (Some([1.75, 5.0]), 3.0));
        assert_eq!(Times::of(vec![2.0]).unwrap().interval(), [2.0, 2.0]);
        assert_eq!(Times::of(vec![]), None);
        assert_eq!(Times::of(vec![1.0, f64::NAN]), None);
    }

    #[test]
    fn invalid_times_are_rejected() {
        for json in [
            r#"{"min": 0.0, "median": 1.0, "repeats": 3}"#,
            r#"{"min": 2.0, "median": 1.0, "repeats": 3}"#,
            r#"{"min": 1.0, "median": 2.0, "quartiles": [2.5, 3.0], "repeats": 3}"#,
            r#"{"min": 1.0, "median": 2.0, "repeats": 0}"#,
            r#"{"min": 1.0, "median": 1e999, "repeats": 2}"#,
        ] {
            assert!(serde_json::from_str::<Times>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_median(seconds in prop::collection::vec(1e-9_f64..1e3, 1..40)) {
            let times = Times::of(seconds).unwrap();
            let [lower, upper] = times.interval();
            prop_assert!(times.min <= lower && lower <= times.median && times.median <= upper);
        }
    }
}
