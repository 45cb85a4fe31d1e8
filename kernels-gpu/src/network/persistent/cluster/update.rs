//! The update of the later layers, and of all biases, by their gradients over the batch.

use cuda_std::{F32x4, warp};

use super::super::super::update::Rule;
use super::super::rows::{Size, product_over_slices_of_samples};
use super::memory::{
    Block, FIRST, Matrix, OUTPUT_QUADS, SECOND, SECOND_BIASES, SECOND_ERRORS, SECOND_QUADS, SECOND_WEIGHTS,
    THIRD_BIASES, THIRD_ERRORS, THIRD_WEIGHTS,
};
use super::passes::{halve_quad, join_quad};
use super::{ROWS, thread, warp_and_lane};

/// Lanes that split the samples of a gradient.
const SLICES: u32 = 4;

impl Block<'_> {
    /// Updates the third layer by the errors of a step and the activations in half `half`.
    #[inline(always)]
    pub(super) fn update_third(&self, half: u32, rule: Rule) {
        let (inputs, errors) = (SECOND.half(half).rows_from(0), THIRD_ERRORS.rows_from(0));
        let size = Size { rows: SECOND_QUADS, columns: OUTPUT_QUADS, depth: ROWS / 4 };
        product_over_slices_of_samples(self.shared, inputs, errors, size, SLICES, |row, quad, gradient| {
            self.update_quad(THIRD_WEIGHTS.offset([row / 4, row % 4, quad]), gradient, rule);
        });
        // The last two warps have no weights.
        let (warp, lane) = warp_and_lane();
        if warp >= 6 {
            let quad = 2 * (warp - 6) + lane / 16;
            let sum = self.sum_of_errors(&THIRD_ERRORS, quad.min(OUTPUT_QUADS - 1));
            let gradient = join_quad(sum, 8, 4).to_array();
            if lane.is_multiple_of(16) && quad < OUTPUT_QUADS {
                self.update_quad(THIRD_BIASES.offset([quad]), gradient, rule.without_decay());
            }
        }
    }

    /// Updates the second layer's weights from the block's units, by the first four warps.
    #[inline(always)]
    pub(super) fn update_second(&self, rule: Rule) {
        let size = Size { rows: 2, columns: SECOND_QUADS, depth: ROWS / 4 };
        let (inputs, errors) = (FIRST.rows_from(0), SECOND_ERRORS.rows_from(0));
        product_over_slices_of_samples(self.shared, inputs, errors, size, SLICES, |row, quad, gradient| {
            self.update_quad(SECOND_WEIGHTS.offset([row, quad]), gradient, rule);
        });
    }

    /// Updates the biases of the block's units of the second layer, by the seventh warp.
    #[inline(always)]
    pub(super) fn update_second_biases(&self, rule: Rule) {
        let (warp, lane) = warp_and_lane();
        if warp != 6 {
            return;
        }
        let gradient = self.sum_of_errors(&SECOND_ERRORS, self.rank);
        // Bits 2 and 3 of the lane are the unit.
        if lane < 16 && lane.is_multiple_of(4) {
            self.update_bias(SECOND_BIASES.offset([lane / 4]), gradient, rule);
        }
    }

    /// Updates the bias at an offset by its gradient.
    #[inline(always)]
    pub(super) fn update_bias(&self, offset: usize, gradient: f32, rule: Rule) {
        self.update_quad(offset, [gradient, 0.0, 0.0, 0.0], rule.without_decay());
    }

    /// The sum of an element of quad `quad` of errors, one row per sample, by 16 lanes, which have one sample each: bits 2 and 3
    /// of the lane become the element.
    #[inline(always)]
    fn sum_of_errors(&self, errors: &Matrix<2>, quad: u32) -> f32 {
        let [sum] = halve_quad(errors.view(self.shared).get([thread() % ROWS, quad]).to_array(), 8, 4);
        let sum = sum + warp::shuffle_xor(sum, 2);
        sum + warp::shuffle_xor(sum, 1)
    }

    /// Updates the quad of parameters at an offset by its gradients.
    #[inline(always)]
    fn update_quad(&self, offset: usize, gradient: [f32; 4], rule: Rule) {
        let weights = self.shared.get(offset).to_array();
        let weights: [f32; 4] = core::array::from_fn(|i| rule.weight(weights[i], gradient[i]));
        self.shared.set(offset, F32x4::from(weights));
    }
}
