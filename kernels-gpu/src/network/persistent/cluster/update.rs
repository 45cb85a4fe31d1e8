//! The update of the later layers, and of all biases, by their gradients over the batch.

use cuda_std::{F32x4, warp};

use super::super::super::update::Rule;
use super::super::rows::{Size, product_over_slices_of_samples};
use super::memory::{
    Block, FIRST, FIRST_BIASES, FIRST_ERRORS, Matrix, OUTPUT_QUADS, SECOND, SECOND_BIASES, SECOND_ERRORS, SECOND_QUADS,
    SECOND_WEIGHTS, THIRD_BIASES, THIRD_ERRORS, THIRD_WEIGHTS,
};
use super::passes::{halve_quad, join_quad};
use super::{ROWS, THREADS, thread, warp_and_lane};

/// Lanes that split the samples of a gradient.
const SLICES: u32 = 4;

/// The gradients of a quad of the second layer's weights, and its row and quad.
#[derive(Clone, Copy)]
pub(super) struct SecondGradient {
    row: u32,
    quad: u32,
    gradient: [f32; 4],
}

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
            let gradient = self.sums_of_errors(&THIRD_ERRORS, quad.min(OUTPUT_QUADS - 1));
            if lane.is_multiple_of(16) && quad < OUTPUT_QUADS {
                self.update_quad(THIRD_BIASES.offset([quad]), gradient, rule.without_decay());
            }
        }
    }

    /// The gradients of the second layer's weights from the block's units: a quad in each thread of the block's first half. The whole
    /// block calls it.
    #[inline(always)]
    pub(super) fn second_gradient(&self) -> SecondGradient {
        let mut own = SecondGradient { row: 0, quad: 0, gradient: [0.0; 4] };
        let size = Size { rows: 2, columns: SECOND_QUADS, depth: ROWS / 4 };
        let (inputs, errors) = (FIRST.rows_from(0), SECOND_ERRORS.rows_from(0));
        product_over_slices_of_samples(self.shared, inputs, errors, size, SLICES, |row, quad, gradient| {
            own = SecondGradient { row, quad, gradient };
        });
        own
    }

    /// Updates the biases of the block's units of the second layer, by the second warp.
    #[inline(always)]
    pub(super) fn update_second_biases(&self, rule: Rule) {
        let (warp, lane) = warp_and_lane();
        if warp == 1 {
            let gradient = self.sums_of_errors(&SECOND_ERRORS, self.rank);
            if lane == 0 {
                self.update_quad(SECOND_BIASES.offset([0]), gradient, rule.without_decay());
            }
        }
    }

    /// Updates the second layer's weights from the block's units, and the biases of its units of the first layer.
    #[inline(always)]
    pub(super) fn update_second(&self, SecondGradient { row, quad, gradient }: SecondGradient, rule: Rule) {
        if thread() < THREADS / 2 {
            self.update_quad(SECOND_WEIGHTS.offset([row % 8, quad % SECOND_QUADS]), gradient, rule);
        }
        if warp_and_lane().0 == 1 {
            self.update_first_biases(rule);
        }
    }

    /// Updates the first layer's biases, by one warp.
    #[inline(always)]
    fn update_first_biases(&self, rule: Rule) {
        let lane = thread() % 32;
        // Four lanes for a unit.
        let [a, b, c, d] = FIRST_ERRORS.view(self.shared).get([lane / 4, lane % 4]).to_array();
        let sum = (a + b) + (c + d);
        let sum = sum + warp::shuffle_xor(sum, 1);
        let sum = sum + warp::shuffle_xor(sum, 2);
        // Bits 2 and 3 of the lane are the unit of its quad.
        let gradient = join_quad(sum, 8, 4);
        if lane.is_multiple_of(16) {
            self.update_quad(FIRST_BIASES.offset([lane / 16]), gradient.to_array(), rule.without_decay());
        }
    }

    /// The sums of quad `quad` of errors, one row per sample, in each of 16 lanes, which have one sample each.
    #[inline(always)]
    fn sums_of_errors(&self, errors: &Matrix<2>, quad: u32) -> [f32; 4] {
        let [sum] = halve_quad(errors.view(self.shared).get([thread() % ROWS, quad]).to_array(), 8, 4);
        let sum = sum + warp::shuffle_xor(sum, 2);
        let sum = sum + warp::shuffle_xor(sum, 1);
        join_quad(sum, 8, 4).to_array()
    }

    /// Updates the quad of parameters at an offset by its gradients.
    #[inline(always)]
    fn update_quad(&self, offset: usize, gradient: [f32; 4], rule: Rule) {
        let weights = self.shared.get(offset).to_array();
        let weights: [f32; 4] = core::array::from_fn(|i| rule.weight(weights[i], gradient[i]));
        self.shared.set(offset, F32x4::from(weights));
    }
}
