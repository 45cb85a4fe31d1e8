//! The epochs of a training run, each with its sample permutation.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::batches::Batches;
use super::hyperparameters::Hyperparameters;
use super::steps::EpochSteps;

/// Number of samples from which on computing a permutation takes longer than starting a thread.
const MIN_SAMPLES_FOR_A_THREAD: usize = 1 << 14;

/// The steps of a run's epochs. Each permutation is computed once: while an epoch trains, the next
/// epoch's permutation is computed, unless the run has only one thread.
#[derive(Debug)]
pub struct Epochs {
    hyperparameters: Hyperparameters,
    samples: usize,
    current: Option<(usize, Arc<EpochSteps>)>,
    next: Option<(usize, JoinHandle<EpochSteps>)>,
    computed: usize,
}

impl Epochs {
    /// The epochs of a run on this number of samples.
    pub fn new(hyperparameters: Hyperparameters, samples: usize) -> Self {
        Self { hyperparameters, samples, current: None, next: None, computed: 0 }
    }

    /// The hyperparameters of the run.
    pub fn hyperparameters(&self) -> &Hyperparameters {
        &self.hyperparameters
    }

    pub(super) fn batches(&self) -> Batches {
        Batches::of(self.samples, self.hyperparameters.batch_size)
    }

    /// Number of steps of an epoch.
    pub fn count_of_steps(&self) -> usize {
        self.batches().steps()
    }

    /// Number of samples seen in the first `steps` steps of an epoch.
    pub fn seen(&self, steps: usize) -> usize {
        self.batches().seen(steps)
    }

    /// The steps of an epoch, counted from 0. Call it again for each part of the epoch.
    pub fn steps(&mut self, epoch: usize) -> Arc<EpochSteps> {
        if let Some((current, steps)) = &self.current
            && *current == epoch
        {
            return Arc::clone(steps);
        }
        let prefetched = self.next.take().filter(|(next, _)| *next == epoch);
        // A thread that panicked has already reported why. The computation here panics again.
        let steps = prefetched.and_then(|(_, thread)| thread.join().ok()).unwrap_or_else(|| {
            self.computed += 1;
            EpochSteps::new(&self.hyperparameters, self.samples, epoch)
        });
        let steps = Arc::new(steps);
        self.current = Some((epoch, Arc::clone(&steps)));
        self.begin(epoch + 1);
        steps
    }

    /// Number of permutations computed or started.
    pub fn computed(&self) -> usize {
        self.computed
    }

    /// Starts to compute the permutation of an epoch, if the run has such an epoch and another thread.
    fn begin(&mut self, epoch: usize) {
        let (hyperparameters, samples) = (&self.hyperparameters, self.samples);
        let is_worth_it = hyperparameters.shuffle && samples >= MIN_SAMPLES_FOR_A_THREAD;
        if epoch >= hyperparameters.epochs || !is_worth_it || rayon::current_num_threads() == 1 {
            return;
        }
        let hyperparameters = hyperparameters.clone();
        let thread = thread::Builder::new().name("permutation".to_owned());
        // If no thread can be started, the epoch computes it itself.
        if let Ok(thread) = thread.spawn(move || EpochSteps::new(&hyperparameters, samples, epoch)) {
            self.computed += 1;
            self.next = Some((epoch, thread));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;
    use crate::training::order_of_epoch;

    #[test]
    fn part1_each_epoch_has_its_permutation_which_is_computed_once() {
        for (samples, threads) in [(100, 2), (MIN_SAMPLES_FOR_A_THREAD, 1), (MIN_SAMPLES_FOR_A_THREAD + 1, 2)] {
            let hyperparameters = Hyperparameters { epochs: 4, shuffle: true, ..Preset::Homework.hyperparameters() };
            let mut epochs = Epochs::new(hyperparameters.clone(), samples);
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                for epoch in 0..4 {
                    for _part in 0..3 {
                        assert_eq!(epochs.steps(epoch).order(), order_of_epoch(&hyperparameters, samples, epoch));
                    }
                }
            });
            assert_eq!(epochs.computed(), 4, "{samples} samples, {threads} threads");
        }
    }

    #[test]
    fn part1_a_resumed_run_begins_at_any_epoch() {
        let hyperparameters = Hyperparameters { epochs: 9, shuffle: true, ..Preset::Homework.hyperparameters() };
        let mut epochs = Epochs::new(hyperparameters.clone(), MIN_SAMPLES_FOR_A_THREAD);
        for epoch in [5, 2, 8] {
            let expected = order_of_epoch(&hyperparameters, MIN_SAMPLES_FOR_A_THREAD, epoch);
            assert_eq!(epochs.steps(epoch).order(), expected, "epoch {epoch}");
        }
    }
}
