//! Random choices that follow from the seed, the target and the case alone.

use rand::rngs::ChaCha8Rng;
use rand::{Rng as _, RngExt as _, SeedableRng};

/// The choices of one case.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    /// Those of case `index` of a target: the same in every process.
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

    /// A number below `limit`; 0 if that is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { self.0.random_range(0..limit) }
    }

    /// A number from 0 to 1, 1 excluded.
    pub(crate) fn share(&mut self) -> f64 {
        self.0.random()
    }

    /// Whether an event of one in `n` happens.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// A range of `length` elements, most often a short one.
    pub(crate) fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let longest = if self.one_in(4) { length - start } else { (length - start).min(8) };
        start..start + if longest == 0 { 0 } else { 1 + self.below(longest) }
    }
}
