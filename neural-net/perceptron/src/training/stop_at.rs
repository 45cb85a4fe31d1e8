//! Early stopping at a target accuracy.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::batches::Batches;

/// Stops a training run as soon as the accuracy on the validation samples reaches a target.
///
/// The accuracy is measured after each step at which the number of samples seen since the start
/// passes a multiple of `check_every`, and after every recorded epoch. The step at which a training
/// run stops therefore does not depend on the number of threads or on interruptions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopAt {
    /// The target accuracy, 0 … 1.
    pub accuracy: f64,
    /// Number of samples from one measurement to the next.
    pub check_every: NonZeroUsize,
}

impl StopAt {
    /// The number of steps of epoch `epoch`, counted from 0, after which the next measurement is
    /// due, given that `step` steps are done. `None` if it is due in a later epoch.
    pub(super) fn next_check(&self, batches: Batches, epoch: usize, step: usize) -> Option<usize> {
        let (every, before) = (self.check_every.get(), epoch.saturating_mul(batches.samples));
        let seen = before.saturating_add(batches.seen(step));
        // The next multiple, relative to this epoch's start. It is above `seen`, so at least one step follows.
        let next = (seen / every).saturating_add(1).saturating_mul(every).saturating_sub(before);
        (next <= batches.samples).then(|| next.div_ceil(batches.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a search through all steps.
    #[test]
    fn part1_a_check_is_due_after_the_step_that_passes_a_multiple() {
        for (samples, size, every) in [(50, 16, 5), (50, 16, 16), (50, 7, 20), (50, 50, 3), (50, 16, 120), (1, 1, 1)] {
            let batches = Batches { samples, size };
            let stop_at = StopAt { accuracy: 1.0, check_every: NonZeroUsize::new(every).unwrap() };
            for epoch in 0..7 {
                let is_due = |step: usize| {
                    let seen = |step| epoch * samples + batches.seen(step);
                    seen(step) / every > seen(step - 1) / every
                };
                for step in 0..batches.steps() {
                    let expected = (step + 1..=batches.steps()).find(|&step| is_due(step));
                    let got = stop_at.next_check(batches, epoch, step);
                    assert_eq!(got, expected, "{samples} by {size}, every {every}, epoch {epoch}, step {step}");
                }
            }
        }
    }

    #[test]
    fn part1_a_huge_interval_is_never_due() {
        let stop_at = StopAt { accuracy: 1.0, check_every: NonZeroUsize::MAX };
        assert_eq!(stop_at.next_check(Batches { samples: 50_000, size: 16 }, 3, 7), None);
    }
}
