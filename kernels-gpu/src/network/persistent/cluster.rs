//! The homework's network, trained by one cluster of blocks, for GPUs from sm_90 on.
//!
//! [`network_train_homework`](super::network_train_homework) synchronises its blocks through global memory, and each
//! block computes all later layers. The blocks of a cluster send to each other's shared memory, and wait for what they
//! get there. A second exchange in each step pays then, so that the second layer is distributed too.
//!
//! Ideas:
//! - Each of [`BLOCKS`] blocks has 8 units of the first layer, with the weights to them, and of the second layer the
//!   weights *from* them: its part of each of the second layer's sums (column-parallel, then row-parallel layers, as in
//!   [Megatron-LM](https://arxiv.org/abs/1909.08053)). It sends each part to the block that has the unit, which adds up 16 parts
//!   and sends the activation to all: 4 KiB come to each block in either exchange.
//! - Stores are asynchronous, and complete the bytes of an [`mbarrier`](cuda_std::mbarrier): no barrier of the cluster, and no memory barrier,
//!   is in a step.
//! - The first layer's products are those of tensor cores. A pixel, 0 to 255, is exact as a bf16, and a weight the sum of three
//!   (`tensor_cores`), so that a product has no error, and its sum that of f32. The factor 1/255 is applied to the sum. An error of a
//!   unit is the sum of two bf16, with 2⁻¹⁶ of it left over.
//! - The first layer's weights are in registers: a lane has those that it multiplies, and computes their gradients. So a warp updates a
//!   tile of them and multiplies the next images with it at once.
//! - The second layer's weights are loaded once in a step, for both passes; they can be updated during the backward pass.
//! - The third layer, its errors and those of the second layer need no exchange: 16 lanes compute them for a sample, in
//!   registers, by shuffles. Every block computes them for all samples.
//! - While parts are on their way, the block updates the third layer by the gradients of the step before; while activations are, it begins
//!   to copy the next images, and loads the third layer's weights.
//! - Sigmoids are the GPU's approximations (`ex2.approx`, `rcp.approx`).
//!
//! A step:
//!
//! | pass | tasks of the block | synchronisation after it |
//! |---|---|---|
//! | the warps' sums; parts of the second layer | two samples, by 32 lanes | sent |
//! | meanwhile, update of the third layer, of the step before | 4 × 4 weights, the samples split among 4 lanes | block; received |
//! | second layer, its 4 units | a sample, the parts split among 16 lanes | sent |
//! | meanwhile, the next images; the third layer's weights | a warp: the images of two samples | received |
//! | third layer, terms of the loss, errors of both | a sample, by 16 lanes | block |
//! | errors of its 8 units | four samples, by 32 lanes; half of the block | |
//! | update of the second layer | 4 × 4 weights, the samples split among 4 lanes; the other half | block |
//! | biases, and the loss | a warp | |
//! | update of the first layer, its 8 units; their sums for the next images | a warp: each eighth 16 pixels of all samples and units | block |
//!
//! One place is enough for what others send: a block sends the parts of the next step when it has all activations of this one, which the
//! others send when they have read its parts; and it sends the next activations when it has all parts, which the others send after their
//! last read. Only the update of the third layer reads activations later: they have two halves, for even and odd steps.

use cuda_std::mbarrier::Mbarriers;
use cuda_std::{F32x4, GlobalMut, async_copy, cluster, dynamic_shared, kernel, shared_array, thread};

use self::first::FirstWeights;
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
mod first;
#[cfg(not(target_arch = "nvptx64"))]
mod images;
mod memory;
mod parameters;
mod passes;
mod update;

#[cfg(not(target_arch = "nvptx64"))]
pub use images::{packed_images, pixels_of};

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

/// The mbarrier of each exchange: of the second layer's parts, and of its activations.
const PARTS: usize = 0;
const ACTIVATIONS: usize = 1;
/// Bytes that a block gets in either exchange: of 4 units' parts, one of each block and sample; of 64 units' activations of each sample.
const PARTS_BYTES: u32 = BLOCKS * ROWS * size_of::<F32x4>() as u32;
const ACTIVATIONS_BYTES: u32 = UNITS[1] * ROWS * size_of::<f32>() as u32;

/// Trains the steps `first_step..end_step` of the order, in batches of at most [`ROWS`] samples, in one launch of one
/// cluster of [`BLOCKS`] blocks of [`THREADS`] threads with [`SHARED_BYTES`] bytes of dynamic shared memory.
///
/// The network is the homework's, 784-128-64-10 with sigmoid everywhere, trained without momentum. `inputs` are images, as
/// `packed_images` has them. The other parameters are those of [`network_train_homework`](super::network_train_homework).
#[kernel]
pub fn network_train_cluster(
    inputs: &[F32x4],
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
    let terms = shared_array![f32; 256];
    let arrivals = Mbarriers::new(shared_array![u64; 2]);
    // The remainder tells the compiler that the rank is less than BLOCKS.
    let block = Block { shared: &shared, arrivals: &arrivals, rank: cluster::rank() % BLOCKS };
    if thread() == 0 {
        arrivals.init(PARTS, 1);
        arrivals.init(ACTIVATIONS, 1);
    }
    block.load_parameters(parameters);
    let mut weights = FirstWeights::load(&block, parameters);
    let batch = |step: u32| Batch::new(order, step, batches);
    let sample = block.fetch_sample(&batch(first_step));
    unrolled!(|n: 0 1| {
        block.copy_image(inputs, sample, n, batch(first_step).rows, first_step % 2);
    });
    let mut target = block.fetch_target(targets, sample);
    async_copy::commit();
    async_copy::wait::<0>();
    // All blocks have started, and initialised their mbarriers, before one sends to another.
    cluster::sync();
    weights.forward(&block, first_step % 2);
    let mut second_weights = block.second_weights();
    thread::sync_threads();
    let mut step = first_step;
    let mut last_rule = Rule::new(rule, 1);
    while step < end_step {
        let (half, phase) = (step % 2, (step - first_step) % 2);
        if thread() == 0 {
            arrivals.arrive_expecting(PARTS, PARTS_BYTES);
            arrivals.arrive_expecting(ACTIVATIONS, ACTIVATIONS_BYTES);
        }
        let (batch, next) = (batch(step), batch(step + 1));
        block.send_parts(&second_weights);
        let sample = block.fetch_sample(&next);
        if step > first_step {
            block.update_third(1 - half, last_rule);
        }
        // The third layer is updated.
        thread::sync_threads();
        arrivals.wait(PARTS, phase);
        block.send_activations(half);
        // In flight until the end of the backward pass.
        unrolled!(|n: 0 1| {
            block.copy_image(inputs, sample, n, next.rows, 1 - half);
        });
        async_copy::commit();
        let next_target = block.fetch_target(targets, sample);
        let third_weights = block.third_weights();
        arrivals.wait(ACTIVATIONS, phase);
        block.output(&third_weights, half, target, (batch.rows, loss), &terms);
        target = next_target;
        thread::sync_threads();
        let rule = Rule::new(rule, batch.rows);
        if thread() < THREADS / 2 {
            block.update_second(rule);
        } else {
            block.backward_first(&second_weights);
        }
        async_copy::wait::<0>();
        // The next images are there.
        thread::sync_threads();
        block.update_second_biases(rule);
        block.store_loss(&terms, losses, step);
        weights.update_and_forward(&block, half, rule);
        second_weights = block.second_weights();
        thread::sync_threads();
        last_rule = rule;
        step += 1;
    }
    if end_step > first_step {
        block.update_third((end_step - 1) % 2, last_rule);
        thread::sync_threads();
    }
    weights.store(&block, parameters);
    block.store_parameters(parameters);
}

/// The thread's index in its block, of which the compiler knows that it is less than [`THREADS`].
#[inline(always)]
fn thread() -> u32 {
    thread::thread_idx_x() % THREADS
}

/// The thread's warp and lane.
#[inline(always)]
fn warp_and_lane() -> (u32, u32) {
    (thread() / 32, thread() % 32)
}
