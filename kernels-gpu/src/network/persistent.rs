//! Many steps of training in one launch, for small networks and batches.
//!
//! A step of a small batch is a chain of small products. As separate launches they are bound by latency, and most of
//! the GPU is idle. Here the blocks of one cooperative launch run all steps (persistent threads), with the weights in
//! their shared memory, and synchronize once per step.
//!
//! Ideas:
//! - The first layer, which has most of the weights, is distributed: each block has some of its units, and computes
//!   their activations, errors and updates.
//! - The activations go through an exchange buffer in global memory, with one grid barrier per step. The buffer has two
//!   halves, for even and odd steps: a block writes a half only after the barrier of the step between, when all blocks
//!   have finished reading it.
//! - Every block computes all later layers, on its own copy of the weights. This redundant work is cheaper than a
//!   second barrier, and since all blocks do the same in the same order, they have the same bits.
//!
//! [`cluster`] has a kernel for the homework's network on GPUs with thread block clusters. Networks of a few thousand weights and larger
//! batches, and Adam, have [`small`](super::small).
//!
//! # Shared memory
//!
//! Shared memory holds quads: four floats that one 128-bit instruction moves. Rows of quads are padded with zeros, and
//! zero rows fill up to a multiple of four rows. The launch's [`table`] has the offset of each array, in quads. Padding
//! must stay zero: activations beyond a layer's units are stored as zeros, so that no weight there ever gets a
//! gradient.
//!
//! | rows | one row per | quads of a row |
//! |---|---|---|
//! | first layer's weights | unit of the block | its inputs |
//! | later layers' weights | input of the layer | its units |
//! | biases | layer | units; in the first layer the block's |
//! | batch, targets | sample | the sample's inputs, or targets |
//! | activations | sample | units |
//! | errors | sample | units; in the first layer the block's |

use cuda_std::{F32x4, Global, GlobalMut, SharedArray, dynamic_shared, grid, kernel, shared_array, thread};

mod batch;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod cluster;
mod network;
mod output;
mod parameters;
mod passes;
mod rows;
pub mod table;

use self::network::Network;
use self::parameters::Velocities;
use self::table::Table;
use super::batch::Batch;
use super::shape::{Batches, UpdateRule};
use super::update::Rule;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Lanes of a warp.
const LANES: u32 = 32;
/// Maximum batch size.
pub const MAX_BATCH: u32 = 64;
const MAX_SAMPLES: usize = MAX_BATCH as usize;

/// Declares a kernel that trains by [`train`] with the given table.
macro_rules! training_kernel {
    ($(#[$attribute:meta])* $name:ident, |$table:ident| $constant:expr) => {
        $(#[$attribute])*
        #[kernel]
        pub fn $name(
            inputs: &[f32],
            targets: &[f32],
            order: &[u32],
            $table: &[u32],
            parameters: GlobalMut<f32>,
            velocities: GlobalMut<f32>,
            workspace: GlobalMut<F32x4>,
            exchange: GlobalMut<F32x4>,
            barrier: GlobalMut<u32>,
            losses: GlobalMut<f32>,
            first_step: u32,
            end_step: u32,
            batches: Batches,
            loss: u32,
            rule: UpdateRule,
        ) {
            let samples = Samples { inputs, targets, order, batches };
            let state = State { parameters, velocities, workspace, exchange, barrier, losses };
            train($constant, &samples, &state, (first_step, end_step), loss, rule);
        }
    };
}

training_kernel! {
    /// Trains the steps `first_step..end_step` of the order in one cooperative launch with blocks of [`THREADS`] threads.
    ///
    /// `table` is described in [`table`]; the launch has the dynamic shared memory that it requires, including the
    /// velocities if they are there; otherwise `workspace` has room for every block's velocities. `exchange` has room for
    /// the first layer's activations of two batches. `barrier` is one zero. The kernel writes one float per step to
    /// `losses`. The other parameters are those of `network_update_64`.
    network_train_persistently, |table| table
}

training_kernel! {
    /// [`network_train_persistently`] for the table [`table::HOMEWORK`], which is compiled in: sizes and offsets are
    /// constants, and the passes are unrolled over the layers. The launch's table is not read.
    network_train_homework, |_table| table::Homework
}

/// The samples and their order.
struct Samples<'a> {
    inputs: Global<'a, f32>,
    targets: Global<'a, f32>,
    order: Global<'a, u32>,
    batches: Batches,
}

/// The buffers that a training kernel writes.
struct State<'a> {
    parameters: GlobalMut<'a, f32>,
    velocities: GlobalMut<'a, f32>,
    workspace: GlobalMut<'a, F32x4>,
    exchange: GlobalMut<'a, F32x4>,
    barrier: GlobalMut<'a, u32>,
    losses: GlobalMut<'a, f32>,
}

#[inline(always)]
fn train<T: Table>(
    table: T,
    samples: &Samples,
    state: &State,
    (first_step, end_step): (u32, u32),
    loss: u32,
    rule: UpdateRule,
) {
    assert!(thread::block_dim_x() == THREADS, "the passes distribute their work to blocks of THREADS threads");
    let &Samples { inputs, targets, order, batches } = samples;
    let &State { parameters, velocities, workspace, exchange, barrier, losses } = state;
    let shared = dynamic_shared::<F32x4>();
    let losses_of_samples = shared_array![f32; MAX_SAMPLES];
    let network = Network::new(&shared, table);
    let block_velocities = Velocities::new(&network, velocities, workspace);
    network.load_parameters(parameters, &block_velocities, velocities);
    let mut batch = Batch::new(order, first_step, batches);
    network.load_batch(inputs, targets, &batch);
    let mut step = first_step;
    while step < end_step {
        let rows = batch.rows;
        thread::sync_threads();
        batch = Batch::new(order, step + 1, batches);
        let indices = network.fetch_indices(inputs, targets, &batch);
        network.forward_own(exchange, step % 2);
        // In flight until the end of the step.
        let fetched = network.fetch_batch(inputs, targets, &indices);
        grid::sync(barrier);
        network.load_first_activations(exchange, step % 2);
        thread::sync_threads();
        network.for_each_later_layer(|layer| {
            network.forward(layer);
            thread::sync_threads();
        });
        network.output(rows, loss, &losses_of_samples);
        thread::sync_threads();
        if thread::index_1d() == 0 {
            losses.set(step as usize, sum_of_losses(&losses_of_samples, rows));
        }
        network.for_each_later_layer_reversed(|layer| {
            network.backward(layer);
            thread::sync_threads();
        });
        network.update(Rule::new(rule, rows), &block_velocities);
        thread::sync_threads();
        network.store_batch(fetched, inputs, targets, &batch);
        step += 1;
    }
    network.store_parameters(parameters, &block_velocities, velocities);
}

/// The sum of the first `rows` losses, in order.
#[inline(always)]
fn sum_of_losses<const N: usize>(losses: &SharedArray<f32, N>, rows: u32) -> f32 {
    let (mut sum, mut row) = (0.0, 0);
    while row < rows {
        sum += losses.get(row as usize);
        row += 1;
    }
    sum
}
