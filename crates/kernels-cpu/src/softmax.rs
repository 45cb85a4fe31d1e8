//! Batched softmax and its cross-entropy.
//!
//! Idea: one sample per SIMD lane, as in [`lane_per_sample`](crate::lane_per_sample), so the
//! maximum, the exponentials and their total are loops over 16 lanes. With the maximum m and the
//! total t of the exponentials, −Σ yᵢ ln aᵢ = Σ yᵢ · ln t − Σ yᵢ (zᵢ − m), and Σ yᵢ is 1. The sum
//! of the ln t is the logarithm of a product, so the logarithm is computed once for eight lanes of
//! 16 blocks. The product cannot overflow: with up to [`MAX_UNITS`] units, 1 ≤ t ≤ 32.
//!
//! Error of a probability a = e^(z − m) / t in f32: at most 4e-7 + 6e-8 · (m − z) relative if it is
//! above 1.3e-35. The second term comes from rounding z − m. Smaller probabilities may become zero.

use pulp::{Simd, WithSimd};

use crate::InstructionSet;
use crate::activation::exp_of_nonpositive;
use crate::flush_to_zero::{THRESHOLD_OF_PRODUCTS, flushed, flushed_below};
use crate::lanes::LANES;
use crate::product::PaddedMatrix;

/// Maximum number of units.
pub const MAX_UNITS: usize = 32;
/// Blocks with totals that are multiplied before a logarithm is taken: 32¹⁶ is 2⁸⁰.
const BLOCKS_AT_ONCE: usize = 16;

/// Replaces the weighted sums by their softmax and writes the deltas a − y to `errors`. Returns the
/// summed cross-entropy −Σ yᵢ ln aᵢ.
///
/// The deltas of the first `samples` samples are [flushed](crate::flush_to_zero); the columns after
/// them, up to the end of the last block of 16, are set to 0. All matrices are units × samples,
/// with whole blocks of columns. The targets of each sample must add up to 1.
///
/// The probabilities are not clamped. The logarithm is taken before the division, so a probability
/// that rounds to zero is harmless.
///
/// # Panics
/// If there are more than [`MAX_UNITS`] units, or the shapes differ.
pub fn softmax_cross_entropy(
    set: InstructionSet,
    sums: &mut PaddedMatrix<f32>,
    targets: &PaddedMatrix<f32>,
    errors: &mut PaddedMatrix<f32>,
    samples: usize,
) -> f64 {
    let shape = (sums.rows(), sums.columns());
    assert!(shape.0 <= MAX_UNITS && shape.1.is_multiple_of(LANES), "softmax: too many units or incomplete blocks");
    assert!(samples <= shape.1, "softmax: more samples than columns");
    let fits = shape == (targets.rows(), targets.columns()) && shape == (errors.rows(), errors.columns());
    assert!(fits, "softmax: shapes differ");
    set.dispatch(SoftmaxCrossEntropy { sums, targets, errors, samples })
}

struct SoftmaxCrossEntropy<'a> {
    sums: &'a mut PaddedMatrix<f32>,
    targets: &'a PaddedMatrix<f32>,
    errors: &'a mut PaddedMatrix<f32>,
    samples: usize,
}

impl WithSimd for SoftmaxCrossEntropy<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f64 {
        let units = self.sums.rows();
        let stride = self.sums.stride() / LANES;
        let sums = self.sums.padded_mut().as_chunks_mut::<LANES>().0;
        let errors = self.errors.padded_mut().as_chunks_mut::<LANES>().0;
        let targets = self.targets.padded().as_chunks::<LANES>().0;
        let mut loss = 0.0;
        let blocks = self.samples.div_ceil(LANES);
        let (mut totals, mut inverses, mut own) =
            ([[1.0; LANES]; BLOCKS_AT_ONCE], [[1.0; LANES]; BLOCKS_AT_ONCE], [[0.0; LANES]; BLOCKS_AT_ONCE]);
        for first in (0..blocks).step_by(BLOCKS_AT_ONCE) {
            let count = (blocks - first).min(BLOCKS_AT_ONCE);
            for index in 0..count {
                let block = first + index;
                // A NaN is never the maximum, but its exponential is a NaN.
                let mut largest = [f32::NEG_INFINITY; LANES];
                for unit in 0..units {
                    let z = &sums[unit * stride + block];
                    for lane in 0..LANES {
                        largest[lane] = if z[lane] > largest[lane] { z[lane] } else { largest[lane] };
                    }
                }
                let (mut total, mut weighted) = ([0.0; LANES], [0.0; LANES]);
                for unit in 0..units {
                    // Copies: the compiler then need not assume that reads and writes alias.
                    let (mut z, y) = (sums[unit * stride + block], targets[unit * stride + block]);
                    for lane in 0..LANES {
                        let shifted = z[lane] - largest[lane];
                        z[lane] = exp_of_nonpositive::<S>(shifted);
                        total[lane] += z[lane];
                        // 0 · −∞ would be NaN.
                        let term = if y[lane] == 0.0 { 0.0 } else { y[lane] * shifted };
                        weighted[lane] += term;
                    }
                    sums[unit * stride + block] = z;
                }
                (totals[index], own[index]) = (total, weighted);
            }
            for (inverse, &total) in inverses.as_flattened_mut().iter_mut().zip(totals.as_flattened()) {
                *inverse = 1.0 / total;
            }
            for unit in 0..units {
                for (index, inverse) in inverses.iter().enumerate().take(count) {
                    let at = unit * stride + first + index;
                    let (mut a, mut error) = (sums[at], targets[at]);
                    for lane in 0..LANES {
                        // Zero or normal, even after the division by a total of up to 32. The loss
                        // does not need this.
                        a[lane] = flushed_below(THRESHOLD_OF_PRODUCTS, a[lane]) * inverse[lane];
                        error[lane] = flushed(a[lane] - error[lane]);
                    }
                    (sums[at], errors[at]) = (a, error);
                }
            }
            let end = self.samples - first * LANES;
            if end < count * LANES {
                let (last, used) = (count - 1, end % LANES);
                (0..units).for_each(|unit| errors[unit * stride + first + last][used..].fill(0.0));
                totals[last][used..].fill(1.0);
                own[last][used..].fill(0.0);
            }
            let (mut product, mut weighted) = ([1.0; LANES], [0.0; LANES]);
            for (total, own) in totals.iter().zip(&own).take(count) {
                for lane in 0..LANES {
                    product[lane] *= total[lane];
                    weighted[lane] += own[lane];
                }
            }
            let logarithm = |lanes: &[f32]| libm::log(lanes.iter().copied().map(f64::from).product());
            let (lower, upper) = product.split_at(LANES / 2);
            loss += logarithm(lower) + logarithm(upper) - weighted.into_iter().map(f64::from).sum::<f64>();
        }
        loss
    }
}
