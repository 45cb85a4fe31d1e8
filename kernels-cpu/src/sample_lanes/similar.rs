//! An order of samples in which similar ones are neighbours.

use pulp::{Simd, WithSimd};

use super::LANES;
use crate::InstructionSet;

/// Samples that are candidates for a place in a block.
const CANDIDATES: usize = 256;

/// An order of samples in which each block of [`LANES`] has few inputs that are not zero in one of them: a block begins
/// with the sample of the most such inputs, and takes, one by one, that of the next 256 that adds the fewest. On the first
/// 10,000 images of MNIST a block keeps 37 % of the inputs; in their own order it is 52 %, sorted by digit 44 %.
///
/// `is_used(s, p)` says whether input p of sample s is not zero.
pub fn similar(set: InstructionSet, samples: usize, inputs: usize, is_used: impl Fn(usize, usize) -> bool) -> Vec<u32> {
    let words = inputs.div_ceil(64).max(1);
    let mut used = vec![0_u64; samples * words];
    for (sample, used) in used.chunks_exact_mut(words).enumerate() {
        for (word, used) in used.iter_mut().enumerate() {
            let first = word * 64;
            for bit in 0..64.min(inputs.saturating_sub(first)) {
                *used |= u64::from(is_used(sample, first + bit)) << bit;
            }
        }
    }
    set.dispatch(Similar { used: &used, words })
}

struct Similar<'a> {
    /// For each sample, a bit for each input.
    used: &'a [u64],
    words: usize,
}

impl WithSimd for Similar<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Vec<u32> {
        let Self { used, words } = self;
        let samples = used.len() / words;
        let used = |sample: u32| &used[sample as usize * words..][..words];
        let count = |sample: u32| used(sample).iter().map(|word| word.count_ones()).sum::<u32>();
        let mut counted: Vec<(u32, u32)> = (0..samples as u32).map(|sample| (count(sample), sample)).collect();
        counted.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        // From `first` on, those that wait.
        let mut order: Vec<u32> = counted.into_iter().map(|(_, sample)| sample).collect();
        let mut union = vec![0_u64; words];
        for first in 0..samples {
            if first.is_multiple_of(LANES) {
                union.fill(0);
            }
            let (mut best, mut fewest) = (first, u32::MAX);
            // The sample with the most inputs begins the block; it is the first.
            let candidates = if first.is_multiple_of(LANES) { 1 } else { CANDIDATES };
            for (at, &sample) in order.iter().enumerate().skip(first).take(candidates) {
                let new = |(used, union): (&u64, &u64)| (used & !union).count_ones();
                let added = used(sample).iter().zip(&union).map(new).sum();
                if added < fewest {
                    (best, fewest) = (at, added);
                }
            }
            // The chosen one leaves the candidates; the others keep their order.
            order[first..=best].rotate_right(1);
            union.iter_mut().zip(used(order[first])).for_each(|(union, used)| *union |= used);
        }
        order
    }
}
