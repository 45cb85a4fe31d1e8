//! How many steps go to the device at once.

use std::time::Duration;

/// The steps of the first piece.
const FIRST: usize = 64;
/// A piece that takes less could be larger.
const SHORT: Duration = Duration::from_millis(100);
/// A piece that takes more keeps a user waiting who presses Ctrl-C.
const LONG: Duration = Duration::from_millis(400);

/// Finds how many steps make a piece of a few tenths of a second.
///
/// What a training computes does not depend on it.
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
    /// The steps of the next piece, at least one.
    pub(super) fn steps(self) -> usize {
        self.steps
    }

    /// A piece of `steps` steps took so long.
    pub(super) fn learn(&mut self, steps: usize, took: Duration) {
        if took > LONG {
            self.steps = (steps / 2).max(1);
        } else if took < SHORT && steps == self.steps {
            self.steps = steps.saturating_mul(4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_comes_to_take_a_few_tenths_of_a_second() {
        for microseconds_of_step in [1, 20, 700, 90_000, 3_000_000] {
            let mut pace = Pace::default();
            let took = |steps: usize| Duration::from_micros(steps as u64 * microseconds_of_step);
            for _ in 0..20 {
                pace.learn(pace.steps(), took(pace.steps()));
            }
            let (steps, time) = (pace.steps(), took(pace.steps()));
            assert!(time <= LONG || steps == 1, "{steps} steps of {microseconds_of_step} µs");
            assert!(time >= SHORT, "{steps} steps of {microseconds_of_step} µs");
        }
    }

    #[test]
    fn an_epochs_short_end_says_nothing() {
        let mut pace = Pace::default();
        pace.learn(3, Duration::from_millis(1));
        assert_eq!(pace, Pace::default());
    }
}
