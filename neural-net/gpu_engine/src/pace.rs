//! The number of steps submitted to the device at once.

use std::time::Duration;

/// Number of steps in the first group.
const FIRST: usize = 64;
/// Minimum time for a group. If one takes less, the next is enlarged.
const SHORT: Duration = Duration::from_millis(100);
/// Maximum time for a group. A longer one delays the response to Ctrl-C.
const LONG: Duration = Duration::from_millis(400);

/// Adapts the number of steps per group, to keep a group at a few tenths of a second.
///
/// The results of training do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    steps: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { steps: FIRST }
    }
}

impl Pace {
    /// The number of steps in the next group, at least one.
    pub(super) fn steps(self) -> usize {
        self.steps
    }

    /// Adapts to the elapsed time for a group of `steps` steps.
    pub(super) fn record(&mut self, steps: usize, elapsed: Duration) {
        if elapsed > LONG {
            self.steps = (steps / 2).max(1);
        } else if elapsed < SHORT && steps == self.steps {
            self.steps = steps.saturating_mul(4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part1_a_group_converges_to_a_few_tenths_of_a_second() {
        for microseconds_of_step in [1, 20, 700, 90_000, 3_000_000] {
            let mut pace = Pace::default();
            let elapsed = |steps: usize| Duration::from_micros(steps as u64 * microseconds_of_step);
            for _ in 0..20 {
                pace.record(pace.steps(), elapsed(pace.steps()));
            }
            let (steps, time) = (pace.steps(), elapsed(pace.steps()));
            assert!(time <= LONG || steps == 1, "{steps} steps of {microseconds_of_step} µs");
            assert!(time >= SHORT, "{steps} steps of {microseconds_of_step} µs");
        }
    }

    #[test]
    fn part1_the_short_last_group_of_an_epoch_is_ignored() {
        let mut pace = Pace::default();
        pace.record(3, Duration::from_millis(1));
        assert_eq!(pace, Pace::default());
    }
}
