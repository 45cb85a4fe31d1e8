//! The division of an epoch into steps.

/// The division of an epoch's samples into batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batches {
    pub(super) samples: usize,
    pub(super) size: usize,
}

impl Batches {
    /// The batches of a training run on this number of samples. Without a batch size, there is one batch.
    pub(super) fn of(samples: usize, batch_size: Option<usize>) -> Self {
        Self { samples, size: batch_size.unwrap_or(samples).max(1) }
    }

    /// Number of steps of an epoch.
    pub(super) fn steps(self) -> usize {
        self.samples.div_ceil(self.size)
    }

    /// Number of samples seen in the first `steps` steps of an epoch.
    pub(super) fn seen(self, steps: usize) -> usize {
        steps.saturating_mul(self.size).min(self.samples)
    }
}
