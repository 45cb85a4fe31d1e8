//! The forward pass, run by the whole block, and the backward pass, by the halves of it.

use cuda_std::{F32x4, GlobalMut, SharedArray, cluster, math, warp};

use super::super::super::{activation, loss};
use super::super::rows::{add_products, add_scaled, halve};
use super::memory::{
    Block, FIRST, FIRST_BIASES, FIRST_ERRORS, SECOND, SECOND_BIASES, SECOND_ERRORS, SECOND_PARTS, SECOND_WEIGHTS,
    THIRD_BIASES, THIRD_ERRORS, THIRD_WEIGHTS,
};
use super::{ACTIVATIONS, PARTS, THREADS, UNITS, first, thread, warp_and_lane};

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
    /// The second layer's weights from the lane's quad of the block's units to one of the second layer's.
    #[inline(always)]
    pub(super) fn second_weights(&self) -> SecondWeights {
        let weights = SECOND_WEIGHTS.view(self.shared);
        let quad = Lane::of_thread().index / 8;
        core::array::from_fn(|k| weights.get([4 * quad + k as u32, second_quad()]).to_array())
    }

    /// Computes the first layer's activations of the block's units, of the warps' sums, and of them the block's parts of the second
    /// layer's sums; sends each to the block that has the unit.
    #[inline(always)]
    pub(super) fn send_parts(&self, weights: &SecondWeights) {
        let lane = Lane::of_thread();
        // Eight lanes add up the sums of a sample and a quad of units.
        let (quad, place) = (lane.index / 8, lane.index % 8);
        let [sum] = halve_quad(first::partial_sums(self, place, lane.sample, quad), 4, 2);
        // Bits 1 and 2 of the lane are the unit.
        let [bias, ..] = FIRST_BIASES.view(self.shared).get([4 * quad + place / 2]).to_array();
        let sum = sum + warp::shuffle_xor(sum, 1);
        let own = join_quad(sigmoid(sum + bias), 4, 2);
        if place == 0 {
            FIRST.view(self.shared).set([lane.sample, quad], own);
        }
        let own = own.to_array();
        let other = own.map(|value| warp::shuffle_xor(value, 16));
        let (even, odd) = if lane.sample.is_multiple_of(2) { (own, other) } else { (other, own) };
        let [mut of_even, mut of_odd] = [[0.0_f32; 4]; 2];
        unrolled!(|k: 0 1 2 3| {
            let k = k as usize;
            add_scaled(even[k], &weights[k], &mut of_even);
            add_scaled(odd[k], &weights[k], &mut of_odd);
        });
        // The lanes of the first quad get the sums of the even sample, those of the second of the odd one.
        let sums = halve(of_even, of_odd, 8);
        let place = SECOND_PARTS.offset([self.rank, lane.sample / 2 * 2 + quad]);
        cluster::map_shared(self.shared, second_quad()).set_async(place, sums.into(), self.arrivals, PARTS);
    }

    /// Adds up all blocks' parts of the sums of the block's units of the second layer, and sends the activations to all blocks.
    #[inline(always)]
    pub(super) fn send_activations(&self, half: u32) {
        let lane = Lane::of_thread();
        let [sum] = halve_quad(SECOND_PARTS.view(self.shared).get([lane.index, lane.sample]).to_array(), 8, 4);
        let sum = sum + warp::shuffle_xor(sum, 2);
        let sum = sum + warp::shuffle_xor(sum, 1);
        // Bits 2 and 3 of the lane's index are the unit.
        let [bias, ..] = SECOND_BIASES.view(self.shared).get([lane.index / 4]).to_array();
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

    /// Stores the loss of a step, by the third warp of the first block.
    #[inline(always)]
    pub(super) fn store_loss(&self, terms: &Terms, losses: GlobalMut<f32>, step: u32) {
        let (warp, lane) = warp_and_lane();
        if self.rank > 0 || warp != 2 {
            return;
        }
        let of_lane: [f32; 8] = core::array::from_fn(|i| terms.get(lane as usize + 32 * i));
        let loss = warp::reduce_add(of_lane.iter().sum());
        if lane == 0 {
            losses.set(step as usize, loss);
        }
    }

    /// Computes the errors of the block's units of the first layer, by the last four warps, which have four samples each.
    #[inline(always)]
    pub(super) fn backward_first(&self, weights: &SecondWeights) {
        let (warp, lane) = warp_and_lane();
        let samples = 4 * (warp % 4);
        let errors = SECOND_ERRORS.view(self.shared);
        let mut sums = [[0.0_f32; 4]; 4];
        unrolled!(|n: 0 1 2 3| {
            let errors = errors.get([samples + n, second_quad()]).to_array();
            add_products(&errors, weights, &mut sums[n as usize]);
        });
        // 16 lanes have a quad of the second layer's units each. Bits 4 and 0 of the lane become the sample, bits 2 and 1 the unit.
        let [a, b, c, d] = sums;
        let [even, odd] = [halve(a, c, 16), halve(b, d, 16)];
        let [sum] = halve_quad(halve(even, odd, 1), 4, 2);
        let (sample, quad, unit) = (samples + lane / 16 * 2 + lane % 2, lane / 8 % 2, lane / 2 % 4);
        let value = element(FIRST.view(self.shared).get([sample, quad]), unit);
        let errors = join_quad(sum * activation::derivative(activation::SIGMOID, value), 2, 1);
        if lane.is_multiple_of(4) {
            FIRST_ERRORS.view(self.shared).set([2 * quad + unit / 2, sample / 2], errors);
        }
    }
}

/// Of each of the block's four units of a quad, a quad of weights to the second layer's units.
pub(super) type SecondWeights = [[f32; 4]; 4];

/// The lane's quad of the second layer's units, in the passes between it and the first.
#[inline(always)]
fn second_quad() -> u32 {
    thread() % 8 + thread() / 16 % 2 * 8
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
