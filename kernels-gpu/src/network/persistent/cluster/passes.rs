//! The forward and the backward pass, each run by the whole block.

use cuda_std::{F32x4, GlobalMut, SharedArray, cluster, math, warp};

use super::super::super::{activation, loss};
use super::super::rows::{add_products, add_scaled, halve};
use super::memory::{
    Block, FIRST, FIRST_BIASES, FIRST_ERRORS, SECOND, SECOND_BIASES, SECOND_ERRORS, SECOND_PARTS, SECOND_QUADS,
    SECOND_WEIGHTS, THIRD_BIASES, THIRD_ERRORS, THIRD_WEIGHTS,
};
use super::{ACTIVATIONS, PARTS, THREADS, UNITS, first, thread};

/// In the passes of the second and third layer, 16 lanes work on a sample.
#[derive(Clone, Copy)]
struct Lane {
    sample: u32,
    /// 0 to 15.
    index: u32,
}

impl Lane {
    #[inline(always)]
    fn of_thread() -> Self {
        Self { sample: thread() / 16, index: thread() % 16 }
    }
}

impl Block<'_> {
    /// Element \[h\]\[k\] of the second layer's weights from the block's unit 4h + k: those to the quad of units whose sums the thread
    /// sends.
    #[inline(always)]
    pub(super) fn second_weights(&self) -> [[[f32; 4]; 4]; 2] {
        let weights = SECOND_WEIGHTS.view(self.shared);
        let index = Lane::of_thread().index;
        [0, 4].map(|first| core::array::from_fn(|k| weights.get([first + k as u32, index]).to_array()))
    }

    /// Computes the first layer's activations of the block's units, of the warps' sums, and of them the block's parts of the second
    /// layer's sums; sends each to the block that has the unit.
    #[inline(always)]
    pub(super) fn send_parts(&self, second_weights: &[[[f32; 4]; 4]; 2]) {
        let lane = Lane::of_thread();
        // Eight lanes add up the warps' sums of a sample and a quad of units.
        let (quad, warp) = (lane.index / 8, lane.index % 8);
        let [sum] = halve_quad(first::partial_sums(self, warp, lane.sample, quad), 4, 2);
        // Bits 1 and 2 of the lane are the unit.
        let bias = element(FIRST_BIASES.view(self.shared).get([quad]), warp / 2);
        let sum = sum + warp::shuffle_xor(sum, 1);
        let own = join_quad(sigmoid(sum + bias), 4, 2);
        if warp == 0 {
            FIRST.view(self.shared).set([lane.sample, quad], own);
        }
        let own = own.to_array();
        let other = own.map(|value| warp::shuffle_xor(value, 8));
        let (first, second) = if quad == 0 { (own, other) } else { (other, own) };
        let mut sums = [0.0_f32; 4];
        for (activations, weights) in [first, second].iter().zip(second_weights) {
            for (&activation, weights) in activations.iter().zip(weights) {
                add_scaled(activation, weights, &mut sums);
            }
        }
        let place = SECOND_PARTS.offset([self.rank, lane.sample]);
        cluster::map_shared(self.shared, lane.index).set_async(place, sums.into(), self.arrivals, PARTS);
    }

    /// Adds up all blocks' parts of the sums of the block's units of the second layer, and sends the activations to all blocks.
    #[inline(always)]
    pub(super) fn send_activations(&self, half: u32) {
        let lane = Lane::of_thread();
        let [sum] = halve_quad(SECOND_PARTS.view(self.shared).get([lane.index, lane.sample]).to_array(), 8, 4);
        let sum = sum + warp::shuffle_xor(sum, 2);
        let sum = sum + warp::shuffle_xor(sum, 1);
        // Bits 2 and 3 of the lane's index are the unit.
        let bias = element(SECOND_BIASES.view(self.shared).get([0]), lane.index / 4);
        let values = join_quad(sigmoid(sum + bias), 8, 4);
        let place = SECOND.half(half).offset([lane.sample, self.rank]);
        cluster::map_shared(self.shared, lane.index).set_async(place, values, self.arrivals, ACTIVATIONS);
    }

    /// The third layer's weights from the lane's quad of the second layer's units.
    #[inline(always)]
    pub(super) fn third_weights(&self) -> ThirdWeights {
        let (weights, index) = (THIRD_WEIGHTS.view(self.shared), Lane::of_thread().index);
        core::array::from_fn(|i| core::array::from_fn(|q| weights.get([index, i as u32, q as u32]).to_array()))
    }

    /// Computes the third layer's activations and errors of all samples, the second layer's errors, and the terms of the loss in the
    /// first block. Errors and terms of rows from `rows` on are zero. `target` is that of the lane's sample and output.
    #[inline(always)]
    pub(super) fn output(
        &self,
        weights: &ThirdWeights,
        half: u32,
        target: f32,
        (rows, loss): (u32, u32),
        terms: &Terms,
    ) {
        let lane = Lane::of_thread();
        let inputs = SECOND.half(half).view(self.shared).get([lane.sample, lane.index]).to_array();
        let mut sums = [[0.0_f32; 4]; 3];
        for (&input, weights) in inputs.iter().zip(weights) {
            for (sums, weights) in sums.iter_mut().zip(weights) {
                add_scaled(input, weights, sums);
            }
        }
        let sums = halve(halve(sums[0], sums[2], 8), halve(sums[1], [0.0; 4], 8), 4);
        let [sum] = halve_quad(sums, 2, 1);
        // The lane's index is its output.
        let output = lane.index;
        let (mut error, mut term) = (0.0, 0.0);
        if output < UNITS[2] && lane.sample < rows {
            let bias = element(THIRD_BIASES.view(self.shared).get([output / 4]), output % 4);
            let value = sigmoid(sum + bias);
            error = loss::error(activation::SIGMOID, loss, value, target, 0.0);
            term = loss::term(activation::SIGMOID, loss, value, target);
        }
        let errors = join_quad(error, 2, 1);
        if output.is_multiple_of(4) && output < UNITS[2] {
            THIRD_ERRORS.view(self.shared).set([lane.sample, output / 4], errors);
        }
        let first = thread() % 32 / 16 * 16;
        let mut sums = [0.0_f32; 4];
        unrolled!(|output: 0 1 2 3 4 5 6 7 8 9| {
            let error = warp::shuffle_idx(error, first + output);
            let (quad, element) = (output as usize / 4, output as usize % 4);
            let weights: [f32; 4] = core::array::from_fn(|i| weights[i][quad][element]);
            add_scaled(error, &weights, &mut sums);
        });
        let errors: [f32; 4] =
            core::array::from_fn(|i| sums[i] * activation::derivative(activation::SIGMOID, inputs[i]));
        SECOND_ERRORS.view(self.shared).set([lane.sample, lane.index], errors.into());
        if self.rank == 0 {
            terms.set(thread() as usize, term);
        }
    }

    /// Stores the loss of a step, by the first warp of the first block.
    #[inline(always)]
    pub(super) fn store_loss(&self, terms: &Terms, losses: GlobalMut<f32>, step: u32) {
        if self.rank > 0 || thread() >= 32 {
            return;
        }
        let of_lane: [f32; 8] = core::array::from_fn(|i| terms.get(thread() as usize + 32 * i));
        let loss = warp::reduce_add(of_lane.iter().sum());
        if thread() == 0 {
            losses.set(step as usize, loss);
        }
    }

    /// Computes the errors of the block's units of the first layer, by half of the block: 8 lanes for a sample.
    #[inline(always)]
    pub(super) fn backward_first(&self) {
        let (warp, lane) = (thread() % 128 / 32, thread() % 8);
        let place = thread() % 32 / 8;
        // The samples of a quad of errors.
        let sample = 2 * warp + place % 2 + place / 2 * 8;
        let (errors, weights) = (SECOND_ERRORS.view(self.shared), SECOND_WEIGHTS.view(self.shared));
        let mut sums = [[0.0_f32; 4]; 2];
        unrolled!(|n: 0 1| {
            let k = lane + n * (SECOND_QUADS / 2);
            let errors = errors.get([sample, k]).to_array();
            let rows = |first| core::array::from_fn(|i| weights.get([first + i as u32, k]).to_array());
            add_products(&errors, &rows(0), &mut sums[0]);
            add_products(&errors, &rows(4), &mut sums[1]);
        });
        // The lane is the unit.
        let [sum] = halve_quad(halve(sums[0], sums[1], 4), 2, 1);
        let value = element(FIRST.view(self.shared).get([sample, lane / 4]), lane % 4);
        let errors = join_quad(sum * activation::derivative(activation::SIGMOID, value), 16, 8);
        if place == 0 {
            FIRST_ERRORS.view(self.shared).set([lane, warp], errors);
        }
    }
}

/// Of each of four units, quads of weights to the outputs.
pub(super) type ThirdWeights = [[[f32; 4]; 3]; 4];
/// The terms of a step's loss, one of each thread.
pub(super) type Terms = SharedArray<f32, { THREADS as usize }>;

/// The logistic sigmoid by the GPU's approximations, with an error of less than 3 · 10⁻⁷. A step waits for three of them, one after the
/// other.
#[inline(always)]
fn sigmoid(z: f32) -> f32 {
    math::fast::recip(1.0 + math::fast::exp(-z))
}

/// Recursive halving of a quad: the sum of one element over four lanes, in each of them that of another. The lane's bits
/// `high` and `low` are the element.
#[inline(always)]
pub(super) fn halve_quad([a, b, c, d]: [f32; 4], high: u32, low: u32) -> [f32; 1] {
    let [a, b] = halve([a, b], [c, d], high);
    halve([a], [b], low)
}

/// The reverse of [`halve_quad`]'s distribution: the values of four lanes as a quad, in each of them.
#[inline(always)]
pub(super) fn join_quad(value: f32, high: u32, low: u32) -> F32x4 {
    let lane = thread();
    let other = warp::shuffle_xor(value, low);
    let (a, b) = if lane & low == 0 { (value, other) } else { (other, value) };
    let (c, d) = (warp::shuffle_xor(a, high), warp::shuffle_xor(b, high));
    if lane & high == 0 { F32x4::new(a, b, c, d) } else { F32x4::new(c, d, a, b) }
}

/// Element `index` of a quad.
#[inline(always)]
fn element(quad: F32x4, index: u32) -> f32 {
    let [a, b, c, d] = quad.to_array();
    let (even, odd) = if index & 2 == 0 { (a, b) } else { (c, d) };
    if index & 1 == 0 { even } else { odd }
}
