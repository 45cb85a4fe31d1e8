//! The update of all parameters of a block by their gradients over the batch.

use cuda_std::{F32x4, SharedView};

use super::super::super::update::Rule;
use super::super::rows::add_outer_product;
use super::memory::{
    BATCH, Block, FEATURE_QUADS, FIRST, FIRST_BIASES, FIRST_ERRORS, FIRST_QUADS, FIRST_WEIGHTS, OUTPUT_QUADS, SECOND,
    SECOND_BIASES, SECOND_ERRORS, SECOND_QUADS, SECOND_WEIGHTS, SECOND_WEIGHTS_FROM_OWN, THIRD_BIASES, THIRD_ERRORS,
    THIRD_WEIGHTS,
};
use super::{ROWS, THREADS, thread};

/// Tasks of the second layer's weights to the block's units, and of the third layer's: 4 × 4 weights each.
const SECOND_TASKS: u32 = FIRST_QUADS;
const THIRD_TASKS: u32 = SECOND_QUADS * OUTPUT_QUADS;
/// Tasks of the second layer's weights from the block's units of the layer below.
const FROM_OWN_TASKS: u32 = 2 * SECOND_QUADS;

/// A column of a matrix: the offset of its first element, and its stride.
type Column = (u32, u32);

impl Block<'_> {
    /// Updates the weights that the backward pass does not read: the third layer's, and the second layer's to the
    /// block's units.
    #[inline(always)]
    pub(super) fn update_later(&self, half: u32, rule: Rule) {
        let task = THREADS - 1 - thread();
        if task >= SECOND_TASKS + THIRD_TASKS {
            return;
        }
        let (inputs, errors, weights) = if task < SECOND_TASKS {
            let weights = (SECOND_WEIGHTS.offset([task, 0]) as u32, 1);
            (FIRST.half(half).column(task), SECOND_ERRORS.column(self.rank), weights)
        } else {
            let (row, quad) = ((task - SECOND_TASKS) / OUTPUT_QUADS, (task - SECOND_TASKS) % OUTPUT_QUADS);
            let weights = (THIRD_WEIGHTS.offset([row, 0, quad]) as u32, OUTPUT_QUADS);
            (SECOND.column(row), THIRD_ERRORS.column(quad), weights)
        };
        self.update_tile(inputs, errors, weights, rule);
    }

    /// Updates the other weights, and all biases.
    #[inline(always)]
    pub(super) fn update(&self, half: u32, rule: Rule) {
        let t = thread();
        // The first layer has no task for the last warp.
        let task = THREADS - 1 - t;
        if t < FEATURE_QUADS {
            self.update_first(t, half, rule);
        } else if task < FROM_OWN_TASKS {
            let (own, quad) = (task / SECOND_QUADS, task % SECOND_QUADS);
            let weights = SECOND_WEIGHTS_FROM_OWN.offset([4 * own, quad]) as u32;
            let inputs = FIRST.half(half).column(2 * self.rank + own);
            let weights = (weights, SECOND_WEIGHTS_FROM_OWN.stride());
            self.update_tile(inputs, SECOND_ERRORS.column(quad), weights, rule);
        } else {
            // The biases of the block's 2 + 1 quads of units, then the third layer's.
            let biases = match t - FEATURE_QUADS {
                n @ (0 | 1) => Some((FIRST_ERRORS.column(n), FIRST_BIASES.offset([n]))),
                2 => Some((SECOND_ERRORS.column(self.rank), SECOND_BIASES.offset([0]))),
                n @ 3..6 => Some((THIRD_ERRORS.column(n - 3), THIRD_BIASES.offset([n - 3]))),
                _ => None,
            };
            if let Some((errors, biases)) = biases {
                self.update_biases(self.column(errors), biases, rule.without_decay());
            }
        }
    }

    /// Updates 8 × 4 weights of the first layer: from quad `quad` of the inputs to the block's units.
    #[inline(always)]
    fn update_first(&self, quad: u32, half: u32, rule: Rule) {
        let (errors, inputs) = (FIRST_ERRORS.view(self.shared), BATCH.half(half).view(self.shared));
        let mut gradients = [[[0.0_f32; 4]; 4]; 2];
        unrolled!(|sample: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15| {
            let inputs = inputs.get([sample, quad]).to_array();
            add_outer_product(&errors.get([sample, 0]).to_array(), &inputs, &mut gradients[0]);
            add_outer_product(&errors.get([sample, 1]).to_array(), &inputs, &mut gradients[1]);
        });
        let first = FIRST_WEIGHTS.offset([0, quad]) as u32;
        let stride = FIRST_WEIGHTS.stride();
        self.update_column(first, stride, &gradients[0], rule);
        self.update_column(first + 4 * stride, stride, &gradients[1], rule);
    }

    /// Updates 4 × 4 weights by the product of two columns.
    #[inline(always)]
    fn update_tile(&self, inputs: Column, errors: Column, (first, stride): Column, rule: Rule) {
        let (inputs, errors) = (self.column(inputs), self.column(errors));
        let mut gradients = [[0.0_f32; 4]; 4];
        unrolled!(|sample: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15| {
            add_outer_product(&inputs.get([sample]).to_array(), &errors.get([sample]).to_array(), &mut gradients);
        });
        self.update_column(first, stride, &gradients, rule);
    }

    /// Updates four quads of weights from `first` on by their gradients.
    #[inline(always)]
    fn update_column(&self, first: u32, stride: u32, gradients: &[[f32; 4]; 4], rule: Rule) {
        let weights = self.shared.view(first, [4], [stride]);
        let [a, b, c, d] = *gradients;
        let updated: [F32x4; 4] =
            core::array::from_fn(|row| updated(weights.get([row as u32]), [a, b, c, d][row], rule));
        let [a, b, c, d] = updated;
        weights.set([0], a);
        weights.set([1], b);
        weights.set([2], c);
        weights.set([3], d);
    }

    /// Updates a quad of biases by the sum of the errors.
    #[inline(always)]
    fn update_biases(&self, errors: SharedView<F32x4, 1>, biases: usize, rule: Rule) {
        let mut gradients = [0.0_f32; 4];
        for sample in 0..ROWS {
            let errors = errors.get([sample]).to_array();
            for (gradient, error) in gradients.iter_mut().zip(&errors) {
                *gradient += error;
            }
        }
        self.shared.set(biases, updated(self.shared.get(biases), gradients, rule));
    }

    /// The elements of a column with one row per sample.
    #[inline(always)]
    fn column(&self, (first, stride): Column) -> SharedView<'_, F32x4, 1> {
        self.shared.view(first, [ROWS], [stride])
    }
}

/// Four weights, updated by their gradients.
#[inline(always)]
fn updated(weights: F32x4, gradients: [f32; 4], rule: Rule) -> F32x4 {
    let weights = weights.to_array();
    let weights: [f32; 4] = core::array::from_fn(|i| rule.weight(weights[i], gradients[i]));
    weights.into()
}
