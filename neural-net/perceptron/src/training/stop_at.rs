//! Stopping a training as soon as it is accurate enough.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

/// Stops a training as soon as the accuracy on the validation samples reaches a mark.
///
/// The accuracy is measured after the first step by which `check_every` samples have been seen since the training's
/// beginning, twice as many, and so on, and after every epoch that is recorded. So the step at which a training stops
/// depends neither on threads nor on where it was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopAt {
    /// The mark, 0 … 1.
    pub accuracy: f64,
    /// How many samples are seen from one measurement to the next.
    pub check_every: NonZeroUsize,
}

/// An epoch's samples and the batches that they come in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batches {
    pub(super) samples: usize,
    pub(super) size: usize,
}

impl Batches {
    /// Steps of an epoch.
    pub(super) fn steps(self) -> usize {
        self.samples.div_ceil(self.size)
    }

    /// Samples that so many steps of an epoch have seen.
    pub(super) fn seen(self, steps: usize) -> usize {
        steps.saturating_mul(self.size).min(self.samples)
    }
}

impl StopAt {
    /// After how many steps of epoch `epoch`, counted from 0, the next measurement is due, if `step` of them are done.
    /// None if it is not due in this epoch.
    pub(super) fn next_check(&self, batches: Batches, epoch: usize, step: usize) -> Option<usize> {
        let (every, before) = (self.check_every.get(), epoch.saturating_mul(batches.samples));
        let seen = before.saturating_add(batches.seen(step));
        // The next multiple, counted from this epoch's beginning. It is beyond what is seen, so that a step is to be done.
        let next = (seen / every).saturating_add(1).saturating_mul(every).saturating_sub(before);
        (next <= batches.samples).then(|| next.div_ceil(batches.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a walk through all steps.
    #[test]
    fn a_check_is_due_after_the_step_that_passes_a_multiple() {
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
    fn numbers_without_bound_are_never_due() {
        let stop_at = StopAt { accuracy: 1.0, check_every: NonZeroUsize::MAX };
        assert_eq!(stop_at.next_check(Batches { samples: 50_000, size: 16 }, 3, 7), None);
    }
}
