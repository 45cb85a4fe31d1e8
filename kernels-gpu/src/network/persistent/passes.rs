//! The passes of a step, each run by the whole block.

use cuda_std::{F32x4, GlobalMut, thread};

use super::super::activation;
use super::super::update::Rule;
use super::THREADS;
use super::network::Network;
use super::parameters::Velocities;
use super::rows::{Rows, Size, product, product_over_samples, sum_over_samples};
use super::table::{self, Table};

impl<T: Table> Network<'_, T> {
    /// Computes the first layer's activations for the block's units and stores them in half `half` of the exchange
    /// buffer.
    #[inline(always)]
    pub(super) fn forward_own(&self, exchange: GlobalMut<F32x4>, half: u32) {
        let quads = self.layer(0).unit_quads();
        let first = half * 4 * self.row_quads * quads;
        let layer = self.layer(0);
        let size = Size { rows: self.row_quads, columns: self.own, depth: layer.feature_quads() };
        let activation = layer.activation();
        product::<true>(self.shared, self.batch(), layer.weights(), size, layer.forward_slices(), |row, own, sums| {
            let biases = self.shared.get((layer.biases() + own) as usize).to_array();
            let quad = self.first_own + own;
            let values = activations(activation, sums, biases, 4 * quad, layer.units());
            exchange.set((first + row * quads + quad) as usize, values);
        });
    }

    /// Copies all activations of the first layer into shared memory.
    #[inline(always)]
    pub(super) fn load_first_activations(&self, exchange: GlobalMut<F32x4>, half: u32) {
        let (quads, rows) = (self.layer(0).unit_quads(), self.layer(0).activations());
        let count = 4 * self.row_quads * quads;
        let threads = THREADS;
        let mut i = thread::thread_idx_x();
        // Two loads in flight.
        while i < count {
            let get = |i: u32| exchange.get((half * count + i) as usize);
            let set = |i: u32, quad| self.shared.set(rows.offset(i / quads, i % quads) as usize, quad);
            let next = i + threads;
            if next < count {
                let (first, second) = (get(i), get(next));
                set(i, first);
                set(next, second);
            } else {
                set(i, get(i));
            }
            i = next + threads;
        }
    }

    /// Computes the activations of a later layer.
    #[inline(always)]
    pub(super) fn forward(&self, index: u32) {
        let (below, layer) = (self.layer(index - 1), self.layer(index));
        let size = Size { rows: self.row_quads, columns: layer.unit_quads(), depth: layer.feature_quads() };
        let (out, activation, units) = (layer.activations(), layer.activation(), layer.units());
        let slices = layer.forward_slices();
        product::<false>(self.shared, below.activations(), layer.weights(), size, slices, |row, quad, sums| {
            let biases = self.shared.get((layer.biases() + quad) as usize).to_array();
            let values = activations(activation, sums, biases, 4 * quad, units);
            self.shared.set(out.offset(row, quad) as usize, values);
        });
    }

    /// Computes the errors of the layer below layer `index`, with the weights before their update; in the first layer
    /// only those of the block's units.
    #[inline(always)]
    pub(super) fn backward(&self, index: u32) {
        let (below, layer) = (self.layer(index - 1), self.layer(index));
        let (first, columns) = if index == 1 { (self.first_own, self.own) } else { (0, layer.feature_quads()) };
        let Rows { first: start, stride } = layer.weights();
        let weights = Rows { first: start + 4 * first * stride, stride };
        let size = Size { rows: self.row_quads, columns, depth: layer.unit_quads() };
        let (values, out, activation) = (below.activations(), below.errors(), below.activation());
        let slices = layer.backward_slices();
        product::<true>(self.shared, layer.errors(), weights, size, slices, |row, quad, sums| {
            let values = self.shared.get(values.offset(row, first + quad) as usize).to_array();
            let errors: [f32; 4] = core::array::from_fn(|i| sums[i] * activation::derivative(activation, values[i]));
            self.shared.set(out.offset(row, quad) as usize, errors.into());
        });
    }

    /// Updates all the block's parameters by their gradients over the batch. Errors are zero in rows without a sample.
    #[inline(always)]
    pub(super) fn update(&self, rule: Rule, velocities: &Velocities) {
        match velocities.kind {
            table::NOWHERE => self.update_with::<{ table::NOWHERE }>(rule, velocities),
            table::IN_SHARED => self.update_with::<{ table::IN_SHARED }>(rule, velocities),
            _ => self.update_with::<{ table::IN_WORKSPACE }>(rule, velocities),
        }
    }

    #[inline(always)]
    fn update_with<const VELOCITIES: u32>(&self, rule: Rule, velocities: &Velocities) {
        let (layer, samples) = (self.layer(0), 4 * self.row_quads);
        let (weights, errors) = (layer.weights(), self.own_errors());
        let size = Size { rows: self.own, columns: layer.feature_quads(), depth: samples };
        product_over_samples(self.shared, errors, self.batch(), size, |row, quad, gradients| {
            velocities.update::<VELOCITIES>(weights.offset(row, quad), gradients, rule);
        });
        sum_over_samples(self.shared, errors, self.own, samples, |quad, gradients| {
            velocities.update::<VELOCITIES>(layer.biases() + quad, gradients, rule.without_decay());
        });
        self.for_each_later_layer(|index| {
            let (below, layer) = (self.layer(index - 1), self.layer(index));
            let (weights, errors) = (layer.weights(), layer.errors());
            let size = Size { rows: layer.feature_quads(), columns: layer.unit_quads(), depth: samples };
            product_over_samples(self.shared, below.activations(), errors, size, |row, quad, gradients| {
                velocities.update::<VELOCITIES>(weights.offset(row, quad), gradients, rule);
            });
            sum_over_samples(self.shared, errors, layer.unit_quads(), samples, |quad, gradients| {
                velocities.update::<VELOCITIES>(layer.biases() + quad, gradients, rule.without_decay());
            });
        });
    }
}

/// The activations of four units from `first` on; zeros beyond the last.
#[inline(always)]
fn activations(activation: u32, sums: [f32; 4], biases: [f32; 4], first: u32, units: u32) -> F32x4 {
    let values: [f32; 4] = core::array::from_fn(|i| match first + (i as u32) < units {
        true => activation::apply(activation, sums[i] + biases[i]),
        false => 0.0,
    });
    values.into()
}
