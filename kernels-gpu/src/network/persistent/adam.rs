//! Adam in one launch for many steps, for batches of up to [`MAX_BATCH`] samples.
//!
//! The batches of a regression on a table are larger than the homework's, and the layers smaller: there are more samples
//! than weights. Differences from [`network_train_persistently`](super::network_train_persistently):
//! - The lanes of a warp split a gradient's sum over the samples, so that few weights occupy the block too.
//! - If there are at most four outputs, a lane computes the errors and the loss of a sample.
//! - A launch may have only one block. Its first layer's activations stay in shared memory, and no grid barrier is
//!   necessary.
//! - The mean gradients m and the mean squared gradients v are in shared memory, in the layout of the parameters, one
//!   after the other.

use cuda_std::{F32x4, GlobalMut, SharedArray, dynamic_shared, grid, kernel, shared_array, thread, warp};

use super::super::adam::{Parameter, Rule};
use super::super::batch::Batch;
use super::super::shape::{AdamRule, Batches};
use super::network::Network;
use super::rows::{Size, product_over_slices_of_samples, sum_over_samples_by_warps};
use super::table::{self, Table};
use super::{LANES, THREADS};

/// Maximum batch size.
pub const MAX_BATCH: u32 = 256;
const MAX_SAMPLES: usize = MAX_BATCH as usize;

/// Trains the steps `first_step..end_step` of the order by Adam in one cooperative launch with blocks of [`THREADS`]
/// threads, in batches of at most [`MAX_BATCH`] samples.
///
/// `table` is described in [`table`]; the launch has the dynamic shared memory that it requires, with m and v from the
/// offset of the velocities on. `steps`, `velocities` and `squares` are those of
/// [`network_update_by_adam`](super::super::network_update_by_adam). A launch of one block has an empty `exchange`. The
/// other parameters are those of [`network_train_persistently`](super::network_train_persistently).
#[kernel]
pub fn network_train_by_adam(
    inputs: &[f32],
    targets: &[f32],
    order: &[u32],
    table: &[u32],
    steps: &[f32],
    parameters: GlobalMut<f32>,
    velocities: GlobalMut<f32>,
    squares: GlobalMut<f32>,
    exchange: GlobalMut<F32x4>,
    barrier: GlobalMut<u32>,
    losses: GlobalMut<f32>,
    first_step: u32,
    end_step: u32,
    batches: Batches,
    loss: u32,
    rule: AdamRule,
) {
    core::assert!(thread::block_dim_x() == THREADS, "the passes distribute their work to blocks of THREADS threads");
    let shared = dynamic_shared::<F32x4>();
    let losses_of_samples = shared_array![f32; MAX_SAMPLES];
    let network = Network::new(&shared, table);
    let is_alone = thread::grid_dim_x() == 1;
    network.load_parameters_of_adam(parameters, velocities, squares);
    let mut batch = Batch::new(order, first_step, batches);
    network.load_batch(inputs, targets, &batch);
    let mut step = first_step;
    while step < end_step {
        let rows = batch.rows;
        let rule = Rule::new(rule, steps, step, rows);
        thread::sync_threads();
        batch = Batch::new(order, step + 1, batches);
        let indices = network.fetch_indices(inputs, targets, &batch);
        if is_alone {
            network.forward_alone();
        } else {
            network.forward_own(exchange, step % 2);
        }
        // In flight until the end of the step.
        let fetched = network.fetch_batch(inputs, targets, &indices);
        if !is_alone {
            grid::sync(barrier);
            network.load_first_activations(exchange, step % 2);
        }
        thread::sync_threads();
        network.for_each_later_layer(|layer| {
            network.forward(layer);
            thread::sync_threads();
        });
        network.output_of_many(rows, loss, &losses_of_samples);
        thread::sync_threads();
        if thread::thread_idx_x() < LANES {
            let sum = sum_of_losses(&losses_of_samples, rows);
            if thread::index_1d() == 0 {
                losses.set(step as usize, sum);
            }
        }
        network.for_each_later_layer_reversed(|layer| {
            network.backward(layer);
            thread::sync_threads();
        });
        network.update_by_adam(rule);
        thread::sync_threads();
        network.store_batch(fetched, inputs, targets, &batch);
        step += 1;
    }
    network.store_parameters_of_adam(parameters, velocities, squares);
}

/// The sum of the first `rows` losses, in every lane of a warp, whose lanes split them.
#[inline(always)]
fn sum_of_losses(losses: &SharedArray<f32, MAX_SAMPLES>, rows: u32) -> f32 {
    let (mut sum, mut row) = (0.0, thread::thread_idx_x() % LANES);
    while row < rows {
        sum += losses.get(row as usize);
        row += LANES;
    }
    warp::reduce_add(sum)
}

/// Number of lanes that split the samples of one of `tasks` tasks: as few as occupy the block.
#[inline(always)]
fn slices(tasks: u32) -> u32 {
    let mut slices = 4;
    while slices < LANES && slices * tasks < THREADS {
        slices *= 2;
    }
    slices
}

impl<T: Table> Network<'_, T> {
    /// Computes all the first layer's activations, of which the block has all units.
    #[inline(always)]
    fn forward_alone(&self) {
        let activations = self.layer(0).activations();
        self.forward_first(|row, quad, values| self.shared.set(activations.offset(row, quad) as usize, values));
    }

    /// Updates all the block's parameters by their gradients over the batch.
    #[inline(always)]
    fn update_by_adam(&self, rule: Rule) {
        let (layer, depth) = (self.layer(0), self.row_quads);
        let (weights, errors) = (layer.weights(), self.own_errors());
        let size = Size { rows: self.own, columns: layer.feature_quads(), depth };
        let lanes = slices(size.rows * size.columns);
        product_over_slices_of_samples(self.shared, errors, self.batch(), size, lanes, |row, quad, gradients| {
            self.update_quad(weights.offset(row, quad), gradients, rule);
        });
        sum_over_samples_by_warps(self.shared, errors, self.own, depth, |quad, gradients| {
            self.update_quad(layer.biases() + quad, gradients, rule.without_decay());
        });
        self.for_each_later_layer(|index| {
            let (below, layer) = (self.layer(index - 1).activations(), self.layer(index));
            let (weights, errors) = (layer.weights(), layer.errors());
            let size = Size { rows: layer.feature_quads(), columns: layer.unit_quads(), depth };
            let lanes = slices(size.rows * size.columns);
            product_over_slices_of_samples(self.shared, below, errors, size, lanes, |row, quad, gradients| {
                self.update_quad(weights.offset(row, quad), gradients, rule);
            });
            sum_over_samples_by_warps(self.shared, errors, layer.unit_quads(), depth, |quad, gradients| {
                self.update_quad(layer.biases() + quad, gradients, rule.without_decay());
            });
        });
    }

    /// Updates the quad of parameters at `offset` by its gradients.
    #[inline(always)]
    fn update_quad(&self, offset: u32, gradients: [f32; 4], rule: Rule) {
        let places = self.places(offset);
        let [values, m, v] = places.map(|place| self.shared.get(place).to_array());
        let updated: [Parameter; 4] =
            core::array::from_fn(|i| rule.updated(Parameter { value: values[i], m: m[i], v: v[i] }, gradients[i]));
        let [values, m, v] = places;
        self.shared.set(values, updated.map(|parameter| parameter.value).into());
        self.shared.set(m, updated.map(|parameter| parameter.m).into());
        self.shared.set(v, updated.map(|parameter| parameter.v).into());
    }

    /// Offsets of the quad of parameters at `offset`, of its m and of its v.
    #[inline(always)]
    fn places(&self, offset: u32) -> [usize; 3] {
        let (first, quads) = (self.header(table::FIRST_VELOCITY), self.header(table::PARAMETER_QUADS));
        [offset, first + offset, first + quads + offset].map(|place| place as usize)
    }

    /// Copies the block's parameters and their m and v into shared memory.
    #[inline(always)]
    fn load_parameters_of_adam(&self, parameters: GlobalMut<f32>, velocities: GlobalMut<f32>, squares: GlobalMut<f32>) {
        self.for_each_quad(false, |offset, quad| {
            let [values, m, v] = self.places(offset);
            self.shared.set(values, quad.load(parameters).into());
            self.shared.set(m, quad.load(velocities).into());
            self.shared.set(v, quad.load(squares).into());
        });
    }

    /// Copies them back: each block its units of the first layer, and block 0 all later layers.
    #[inline(always)]
    fn store_parameters_of_adam(
        &self,
        parameters: GlobalMut<f32>,
        velocities: GlobalMut<f32>,
        squares: GlobalMut<f32>,
    ) {
        self.for_each_quad(thread::block_idx_x() != 0, |offset, quad| {
            let [values, m, v] = self.places(offset).map(|place| self.shared.get(place).to_array());
            quad.store(parameters, values);
            quad.store(velocities, m);
            quad.store(squares, v);
        });
    }
}
