//! The sentence about a noisy machine.

use crate::Times;
use crate::figures::{Figures, OnThreads};
use crate::words::percent;

/// Minimum interquartile range of a noisy measurement, relative to its median.
const NOISY_SPREAD: f64 = 0.15;
/// Minimum fraction of noisy measurements on a noisy machine.
const NOISY_SHARE: f64 = 0.25;

/// The sentence about a noisy machine, where many measurements of the processor's versions have a
/// wide interquartile range. Measurements with more threads than cores are not counted, since those
/// threads disturb each other. `None` on a quiet machine.
pub fn noise(figures: &Figures) -> Option<String> {
    let Figures { maximum, product, activation, machine, .. } = figures;
    let ladders = [&maximum.rayon, &product.rayon, &activation.three_passes, &activation.fused];
    let ladders = ladders.into_iter().flatten().filter(|on: &&OnThreads| on.threads <= machine.cores);
    noise_of([&maximum.cpu, &product.trivial, &activation.cpu].into_iter().chain(ladders.map(|on| &on.times)))
}

/// The same sentence for any times measured on at most one thread per core.
pub(crate) fn noise_of<'a>(times: impl Iterator<Item = &'a Times>) -> Option<String> {
    let spread = |times: &Times| times.quartiles.map(|[lower, upper]| (upper - lower) / times.median);
    let spreads: Vec<f64> = times.filter_map(spread).collect();
    let widest = spreads.iter().copied().fold(0.0, f64::max);
    let noisy = spreads.iter().filter(|spread| **spread > NOISY_SPREAD).count();
    (noisy > 0 && noisy as f64 >= NOISY_SHARE * spreads.len() as f64).then(|| {
        format!(
            "The machine was noisy: in {noisy} of {} measurements on at most one thread per core the interquartile range exceeds {} of \
             the median, and in one it is {}.",
            spreads.len(),
            percent(NOISY_SPREAD),
            percent(widest)
        )
    })
}
