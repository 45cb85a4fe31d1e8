//! The homework's network, trained by one cluster of blocks, for GPUs from sm_90 on.
//!
//! [`network_train_homework`](super::network_train_homework) synchronises its blocks through global memory, and each
//! block computes all later layers. The blocks of a cluster write to each other's shared memory, and their barrier does
//! not go through global memory. A second barrier in each step pays then, so that the second layer is distributed too.
//!
//! Ideas:
//! - Each of [`BLOCKS`] blocks has 8 units of the first layer and 4 of the second. After either layer, each block writes
//!   its activations to the shared memory of all blocks.
//! - The block holds the second layer's weights twice: for the forward pass those of its 4 units, and for the backward
//!   pass those from its 8 units of the layer below. Both copies get the same updates, bit by bit.
//! - The third layer, its errors and those of the second layer need no barrier: 16 lanes compute them for a sample, in
//!   registers, by shuffles. Every block computes them for all samples.
//!
//! A step:
//!
//! | pass | tasks of the block | synchronisation after it |
//! |---|---|---|
//! | first layer, its 8 units | 4 samples × 4 units, the depth split among 32 lanes | cluster |
//! | second layer, its 4 units | a sample, the depth split among 16 lanes | cluster |
//! | third layer, loss, errors of both | a sample, by 16 lanes | block |
//! | errors of its 8 units | a sample, the depth split among 8 lanes; half of the block | block |
//! | meanwhile, update of weights that this pass does not read | 4 × 4 weights; the other half | |
//! | update of the rest | 8 × 4 or 4 × 4 weights | block |
//!
//! The activations of the first layer have two halves in shared memory, for even and odd steps: a block writes the half
//! of the next step while others still read this step's. Those of the second layer need only one: between two writes
//! is a barrier of the cluster after the last read.

use cuda_std::{GlobalMut, cluster, dynamic_shared, kernel, shared_array, thread};

use self::memory::{Block, TOTAL};
use super::super::batch::Batch;
use super::super::shape::{Batches, UpdateRule};
use super::super::update::Rule;

/// Repeats the block for each number, as a constant.
macro_rules! unrolled {
    (|$n:ident: $($number:literal)*| $body:block) => {
        $({
            let $n: u32 = $number;
            $body
        })*
    };
}

mod batch;
mod memory;
mod parameters;
mod passes;
mod update;

/// Blocks of the cluster.
pub const BLOCKS: u32 = 16;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// Bytes of a block's dynamic shared memory.
pub const SHARED_BYTES: u32 = 16 * TOTAL;
/// Rows of a batch.
pub const ROWS: u32 = 16;

/// Inputs of the network.
const FEATURES: u32 = 784;
/// Units of each layer.
const UNITS: [u32; 3] = [128, 64, 10];

/// Trains the steps `first_step..end_step` of the order, in batches of at most [`ROWS`] samples, in one launch of one
/// cluster of [`BLOCKS`] blocks of [`THREADS`] threads with [`SHARED_BYTES`] bytes of dynamic shared memory.
///
/// The network is the homework's, 784-128-64-10 with sigmoid everywhere, trained without momentum. The parameters are
/// those of [`network_train_homework`](super::network_train_homework).
#[kernel]
pub fn network_train_cluster(
    inputs: &[f32],
    targets: &[f32],
    order: &[u32],
    parameters: GlobalMut<f32>,
    losses: GlobalMut<f32>,
    first_step: u32,
    end_step: u32,
    batches: Batches,
    loss: u32,
    rule: UpdateRule,
) {
    core::assert!(thread::block_dim_x() == THREADS, "the passes distribute their work to blocks of THREADS threads");
    core::assert!(cluster::size() == BLOCKS, "the layers are distributed to one cluster of BLOCKS blocks");
    let shared = dynamic_shared();
    // With this length known, no view is compared with it.
    core::assert!(shared.len() >= TOTAL as usize, "the launch has SHARED_BYTES bytes of dynamic shared memory");
    let losses_of_samples = shared_array![f32; 16];
    // The remainder tells the compiler that the rank is less than BLOCKS.
    let block = Block { shared: &shared, rank: cluster::rank() % BLOCKS };
    block.load_parameters(parameters);
    let samples = block.fetch_samples(&Batch::new(order, first_step, batches));
    let mut fetched = block.fetch_batch(inputs, targets, samples);
    block.store_batch(&fetched, first_step % 2);
    // All blocks have started before one writes to another's memory.
    cluster::sync();
    let mut step = first_step;
    while step < end_step {
        let half = step % 2;
        let rows = Batch::new(order, step, batches).rows;
        let next = block.fetch_samples(&Batch::new(order, step + 1, batches));
        block.forward_first(half);
        cluster::sync();
        block.forward_second(half);
        // In flight while the block waits at the barrier and computes the third layer.
        let target = fetched.target;
        fetched = block.fetch_batch(inputs, targets, next);
        cluster::sync();
        block.output(target, rows, loss, &losses_of_samples);
        block.store_batch(&fetched, 1 - half);
        thread::sync_threads();
        let rule = Rule::new(rule, rows);
        // The two halves of the block.
        if thread() < THREADS / 2 {
            block.backward_first(half);
        } else {
            block.update_later(half, rule);
        }
        if block.rank == 0 && thread() == 0 {
            losses.set(step as usize, super::sum_of_losses(&losses_of_samples, rows));
        }
        thread::sync_threads();
        block.update(half, rule);
        thread::sync_threads();
        step += 1;
    }
    block.store_parameters(parameters);
}

/// The thread's index in its block, of which the compiler knows that it is less than [`THREADS`].
#[inline(always)]
fn thread() -> u32 {
    thread::thread_idx_x() % THREADS
}
