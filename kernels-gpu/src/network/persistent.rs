//! Many steps of training in one launch, for small networks and batches.
//!
//! A step of a small batch is a chain of small products. As launches of their own they are bound by latency: most of the
//! GPU waits most of the time. Here the blocks of one cooperative launch stay for all steps, with the weights in their
//! shared memory, and wait for each other once a step.
//!
//! Ideas:
//! - The first layer, which has most weights, is shared out: each block has some of its units, and computes their
//!   activations, errors and changes.
//! - The activations go through an exchange buffer in global memory, and there is one barrier of the grid. The buffer
//!   has two halves for even and odd steps: who writes one has seen everybody done with reading it.
//! - All later layers every block computes for itself, on weights of its own. That is the same work many times over, but
//!   cheaper than a second barrier; and since all do the same in the same order, all have the same bits.
//!
//! # Shared memory
//!
//! It holds quads: four numbers that one instruction moves. Rows of quads are padded with zeros, and there are zero rows
//! up to a multiple of four. A table says where everything is, in quads; [`table`] has its columns. Padding must stay
//! zero: activations beyond a layer's units are stored as zeros, so that no weight there ever gets a gradient.
//!
//! | rows | one row for each | quads of a row |
//! |---|---|---|
//! | first layer's weights | of the block's units | its inputs, one after the other |
//! | later layers' weights | input of the layer | its units |
//! | biases | one row | units; in the first layer the block's |
//! | batch, targets | sample | the samples' numbers |
//! | activations | sample | units |
//! | errors | sample | units; in the first layer the block's, unless it is the only one |

use cuda_std::{F32x4, GlobalMut, dynamic_shared, grid, kernel, shared_array, thread};

mod batch;
mod network;
mod output;
mod parameters;
mod passes;
mod rows;
pub mod table;

use self::network::Network;
use self::parameters::Velocities;
use super::batch::Batch;
use super::update::Rule;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Most samples of a batch.
pub const MAX_BATCH: u32 = 64;
const MAX_SAMPLES: usize = MAX_BATCH as usize;

/// Trains steps `first_step` to before `end_step` of the order; one cooperative launch of blocks of [`THREADS`] threads.
///
/// `table` is described in [`table`]; the launch has as much dynamic shared memory as it says, with room for the
/// velocities if they are to be there, else `workspace` has room for those of every block. `exchange` has room for two
/// batches' activations of the first layer. `barrier` is one zero. `losses` gets one number a step. The other parameters
/// are those of `network_update_64`.
#[kernel]
pub fn network_train_persistently(
    inputs: &[f32],
    targets: &[f32],
    order: &[u32],
    table: &[u32],
    parameters: GlobalMut<f32>,
    velocities: GlobalMut<f32>,
    workspace: GlobalMut<F32x4>,
    exchange: GlobalMut<F32x4>,
    barrier: GlobalMut<u32>,
    losses: GlobalMut<f32>,
    first_step: u32,
    end_step: u32,
    batch_size: u32,
    samples: u32,
    loss: u32,
    rate: f32,
    is_mean: u32,
    momentum: f32,
    decay: f32,
) {
    let shared = dynamic_shared::<F32x4>();
    let losses_of_samples = shared_array![f32; MAX_SAMPLES];
    let network = Network::new(&shared, table);
    let changes = Velocities::new(&network, velocities, workspace);
    network.load_parameters(parameters, &changes, velocities);
    let mut batch = Batch::new(order, first_step, batch_size, samples);
    network.load_batch(inputs, targets, &batch);
    let mut step = first_step;
    while step < end_step {
        let rows = batch.rows;
        thread::sync_threads();
        network.forward_own(exchange, step % 2);
        grid::sync(barrier);
        // On its way until the step ends.
        batch = Batch::new(order, step + 1, batch_size, samples);
        let fetched = network.fetch_batch(inputs, targets, &batch);
        network.load_first_activations(exchange, step % 2);
        thread::sync_threads();
        let mut layer = 1;
        while layer < network.layers {
            network.forward(layer);
            thread::sync_threads();
            layer += 1;
        }
        network.output(rows, loss, &losses_of_samples);
        thread::sync_threads();
        if thread::index_1d() == 0 {
            let (mut sum, mut row) = (0.0, 0);
            while row < rows {
                sum += losses_of_samples.get(row as usize);
                row += 1;
            }
            losses.set(step as usize, sum);
        }
        let mut layer = network.layers - 1;
        while layer > 0 {
            network.backward(layer);
            thread::sync_threads();
            layer -= 1;
        }
        network.update(Rule::new(rate, is_mean, momentum, decay, rows), &changes);
        thread::sync_threads();
        network.store_batch(fetched, inputs, targets, &batch);
        step += 1;
    }
    network.store_parameters(parameters, &changes, velocities);
}
