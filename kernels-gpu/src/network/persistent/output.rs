//! Softmax, loss and errors of the output layer, one warp per sample.

use cuda_std::{F32x4, SharedArray, math, thread, warp};

use super::super::{activation, loss};
use super::network::Network;
use super::rows::Quads;
use super::table::Table;
use super::{LANES, THREADS};

impl<T: Table> Network<'_, T> {
    /// Replaces softmax's sums by its activations, and computes the loss of each of `samples` samples and the output
    /// layer's errors, which are zero in rows without a sample.
    #[inline(always)]
    pub(super) fn output<const N: usize>(&self, samples: u32, loss: u32, losses: &SharedArray<f32, N>) {
        let layer = self.layer(self.layers - 1);
        let (activations, errors) = (layer.activations(), layer.errors());
        let t = thread::thread_idx_x();
        let mut row = t / LANES;
        while row < 4 * self.row_quads {
            let sample = Sample {
                shared: self.shared,
                outputs: activations.offset(row, 0),
                errors: errors.offset(row, 0),
                targets: self.targets().offset(row, 0),
                units: layer.units(),
                lane: t % LANES,
            };
            if row < samples {
                sample.finish_activation(layer.activation());
                let sum = sample.finish(layer.activation(), loss);
                if sample.lane == 0 {
                    losses.set(row as usize, sum);
                }
            } else {
                sample.clear_errors();
            }
            row += THREADS / LANES;
        }
    }
}

/// One sample's outputs, handled by a warp: each lane has every 32nd quad.
struct Sample<'a> {
    shared: &'a Quads,
    outputs: u32,
    errors: u32,
    targets: u32,
    units: u32,
    lane: u32,
}

impl Sample<'_> {
    /// Calls `work` with each of the lane's quads.
    #[inline(always)]
    fn for_each_quad(&self, mut work: impl FnMut(u32)) {
        let mut quad = self.lane;
        while 4 * quad < self.units {
            work(quad);
            quad += LANES;
        }
    }

    #[inline(always)]
    fn outputs(&self, quad: u32) -> [f32; 4] {
        self.shared.get((self.outputs + quad) as usize).to_array()
    }

    #[inline(always)]
    fn targets(&self, quad: u32) -> [f32; 4] {
        self.shared.get((self.targets + quad) as usize).to_array()
    }

    /// `values` of a quad of units, with `other` in place of those beyond the last unit.
    #[inline(always)]
    fn existing(&self, quad: u32, values: [f32; 4], other: f32) -> [f32; 4] {
        core::array::from_fn(|i| if 4 * quad + (i as u32) < self.units { values[i] } else { other })
    }

    #[inline(always)]
    fn finish_activation(&self, activation: u32) {
        if activation != activation::SOFTMAX {
            return;
        }
        let mut largest = f32::NEG_INFINITY;
        self.for_each_quad(|quad| {
            let [a, b, c, d] = self.existing(quad, self.outputs(quad), f32::NEG_INFINITY);
            largest = largest.max(a.max(b)).max(c.max(d));
        });
        let largest = warp::reduce_max(largest);
        let mut total = 0.0;
        self.for_each_quad(|quad| {
            let values = self.existing(quad, self.outputs(quad).map(|z| math::exp(z - largest)), 0.0);
            self.shared.set((self.outputs + quad) as usize, values.into());
            total += values[0] + values[1] + values[2] + values[3];
        });
        let total = warp::reduce_add(total);
        self.for_each_quad(|quad| {
            let values = self.outputs(quad).map(|e| e / total);
            self.shared.set((self.outputs + quad) as usize, self.existing(quad, values, 0.0).into());
        });
    }

    /// Stores the errors and returns the loss.
    #[inline(always)]
    fn finish(&self, activation: u32, loss: u32) -> f32 {
        let (mut sum, mut weighted) = (0.0, 0.0);
        self.for_each_quad(|quad| {
            let (a, y) = (self.outputs(quad), self.targets(quad));
            let terms = core::array::from_fn(|i| loss::term(activation, loss, a[i], y[i]));
            let terms = self.existing(quad, terms, 0.0);
            sum += terms[0] + terms[1] + terms[2] + terms[3];
            // Both are zero beyond the last unit.
            for (&a, &y) in a.iter().zip(&y) {
                weighted = math::fma(a - y, a, weighted);
            }
        });
        if loss::needs_weighted_sum(activation, loss) {
            weighted = warp::reduce_add(weighted);
        }
        self.for_each_quad(|quad| {
            let (a, y) = (self.outputs(quad), self.targets(quad));
            let errors = core::array::from_fn(|i| loss::error(activation, loss, a[i], y[i], weighted));
            self.shared.set((self.errors + quad) as usize, self.existing(quad, errors, 0.0).into());
        });
        warp::reduce_add(sum)
    }

    #[inline(always)]
    fn clear_errors(&self) {
        self.for_each_quad(|quad| self.shared.set((self.errors + quad) as usize, F32x4::splat(0.0)));
    }
}
