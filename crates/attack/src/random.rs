//! Random choices that depend on the seed, the target and the case's index only.

use rand::rngs::ChaCha8Rng;
use rand::{Rng as _, RngExt as _, SeedableRng};

/// Random number generator of one case.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    /// The generator of case `index` of a target, the same in every process.
    pub(crate) fn of(seed: u64, target: &str, index: u64) -> Self {
        let name = u64::from(crc32fast::hash(target.as_bytes()));
        let mut words = [0; 32];
        for (bytes, word) in words.as_chunks_mut::<8>().0.iter_mut().zip([seed, name, index, 0]) {
            *bytes = word.to_le_bytes();
        }
        Self(ChaCha8Rng::from_seed(words))
    }

    /// Any 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..limit`; 0 if `limit` is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { self.0.random_range(0..limit) }
    }

    /// Uniform in [0, 1).
    pub(crate) fn fraction(&mut self) -> f64 {
        self.0.random()
    }

    /// True with probability 1 / `n`.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// A range within `0..length`, of at most 8 elements in three of four calls.
    pub(crate) fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let max = if self.one_in(4) { length - start } else { (length - start).min(8) };
        start..start + if max == 0 { 0 } else { 1 + self.below(max) }
    }
}
