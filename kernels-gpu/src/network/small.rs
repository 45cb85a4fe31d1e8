//! Many steps of training in one launch of one block, for the small networks of a regression on a table, by tensor cores. From sm_80 on.
//!
//! A batch has more samples than the layers have units, and all of the network fits into one multiprocessor.
//!
//! Ideas:
//! - A warp takes 16 samples through the forward and the backward pass, and waits for no other warp there.
//! - A product of floats is three products of tf32, a·b = aₕbₕ + aₗbₕ + aₕbₗ, where aₕ is the eleven most significant bits of a and aₗ the
//!   next. What is left out is 2⁻²² of the product.
//! - The sums of a tensor core's product are the left factor of the next one, without an exchange between lanes: unit 2p of a tile of eight
//!   is element p along k, and unit 2p + 1 is element p + 4.
//! - The gradients are products over the samples. Each warp computes its samples' part, all of it.
//! - A lane owns parameters, in registers, with the optimizer's state. It adds the warps' parts of their gradients, always in the same order,
//!   updates them, and publishes them as the fragments of the right factors of both passes, split already.
//! - There are no atomic operations, and the order of each sum depends on the sizes alone: the same input gives the same bits.
//!
//! A step:
//!
//! | pass | tasks of a warp | synchronisation after it |
//! |---|---|---|
//! | samples | forward and backward pass of 16 samples and their parts of the gradients; once more if the batch has more samples than the warps | block |
//! | update | the parameters that its lanes own | block |
//!
//! The inputs of the next step are on their way during the update, and the order's elements a step earlier.
//!
//! A kernel is compiled for the numbers of tiles of eight units of each layer. It trains every network with these layers or
//! smaller ones: units beyond a layer's are zero, and so are their weights, errors and gradients.
//!
//! # Shared memory
//!
//! First, what all warps read: the biases, four quads for each tile of units, and the fragments of the weights. Then each warp's own:
//! activations and errors, in tiles of 16 samples by eight units, and parts of the gradients. A tile is 32 quads: lane 4g + p's has units 2p
//! and 2p + 1 of sample g, and those of sample g + 8. Quads are permuted, so that no pass has bank conflicts.

use cuda_std::{F32x4, Global, GlobalMut, dynamic_shared, kernel, thread, warp};

use super::shape::{Batches, LayerShape};

/// Repeats the block for each number, as a constant. In a loop that is not unrolled, arrays of registers would be local memory.
macro_rules! unrolled {
    (|$n:ident: $($number:literal)*| $body:block) => {
        $({
            const $n: usize = $number;
            $body
        })*
    };
}

/// The same, where no constant is needed: a loop on the host, where copies of the block would only be compiled longer.
#[cfg(target_arch = "nvptx64")]
macro_rules! each {
    (|$n:ident: $($number:literal)*| $body:block) => {
        $({
            let $n: usize = $number;
            $body
        })*
    };
}
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! each {
    (|$n:ident: $($number:literal)*| $body:block) => {
        for $n in [$($number),*] $body
    };
}

mod layout;
mod owner;
mod passes;
#[cfg(not(target_arch = "nvptx64"))]
mod plan;
mod rule;

use self::owner::Owned;
use self::passes::{Inputs, Network};
#[cfg(not(target_arch = "nvptx64"))]
pub use self::plan::{KERNELS, Plan, Unsuitable};
pub use self::rule::SmallRule;
use self::rule::StepRule;

/// Threads of the block.
pub const THREADS: u32 = 256;
/// Warps of the block.
pub const WARPS: u32 = THREADS / 32;
/// Samples of a warp.
pub const SAMPLES: u32 = 16;
/// Maximum number of layers with weights.
pub const MAX_LAYERS: usize = 4;
/// Maximum number of quads of sums that a lane owns.
const MAX_SLOTS: usize = 4;
/// Maximum number of outputs: a tile's.
pub const MAX_OUTPUTS: u32 = 8;

cuda_std::plain_data! {
    /// A layer with weights.
    pub struct SmallLayer {
        /// Sizes, and the first parameter.
        pub shape: LayerShape,
        /// The code of its activation.
        pub activation: u32,
        /// The smallest activation: 0 for ReLU, −∞ for the identity. NaN for the others, which the kernel computes by their code.
        pub least: f32,
        /// The factor of its gradients and of its changes: the square root of the factor of its learning rate.
        pub scale: f32,
    }
}

cuda_std::plain_data! {
    /// A network.
    pub struct SmallNetwork {
        /// Its layers, followed by layers of zeros.
        pub layers: [SmallLayer; MAX_LAYERS],
        /// Number of warps that have samples, each 16 at once.
        pub groups: u32,
        /// The code of the loss.
        pub loss: u32,
    }
}

/// What a launch reads and writes.
#[derive(Clone, Copy)]
struct Run<'a> {
    inputs: Global<'a, f32>,
    targets: Global<'a, f32>,
    order: Global<'a, u32>,
    steps: Global<'a, f32>,
    state: [GlobalMut<'a, f32>; 3],
    losses: GlobalMut<'a, f32>,
    batches: Batches,
    rule: SmallRule,
}

/// Samples of a batch that the block has at once.
#[derive(Clone, Copy)]
struct Position {
    step: u32,
    /// Index in the order of the batch's first sample.
    begin: u32,
    /// Samples of the batch.
    rows: u32,
    /// Row in the batch of the first one.
    row: u32,
}

impl Position {
    #[inline(always)]
    fn begin_of(step: u32, begin: u32, Batches { size, samples }: Batches) -> Self {
        Self { step, begin, rows: size.min(samples.saturating_sub(begin)), row: 0 }
    }

    /// The one after it.
    #[inline(always)]
    fn next(self, at_once: u32, batches: Batches) -> Self {
        let row = self.row + at_once;
        if row < self.rows {
            Self { row, ..self }
        } else {
            Self::begin_of(self.step + 1, self.begin + batches.size, batches)
        }
    }
}

#[inline(always)]
fn train<const TILES: u32>(run: Run, network: SmallNetwork, [first_step, end_step]: [u32; 2]) {
    core::assert!(thread::block_dim_x() == THREADS, "the passes distribute their work to blocks of THREADS threads");
    let shared = dynamic_shared::<F32x4>();
    let features = network.layers[0].shape.features;
    let outputs = network.layers[const { layout::Layout::new(TILES).layers - 1 }].shape.units;
    let samples_of_all = run.targets.len() as u32 / outputs;
    let inputs = run.inputs.view(0, [samples_of_all, features], [features, 1]);
    let targets = run.targets.view(0, [samples_of_all, outputs], [outputs, 1]);
    let (batches, at_once) = (run.batches, SAMPLES * network.groups);
    let order = run.order.view(0, [batches.samples], [1]);
    let steps = run.steps.len() as u32 / 2;
    let numbers = run.steps.view(0, [steps, 2], [2, 1]);
    let network = Network::<TILES>::new(&shared, network);
    let mut owned = Owned::<TILES>::load(&network, run.state);
    owned.publish(&network);
    let row_of = |position: Position| position.row + network.warp * SAMPLES;
    // For rows beyond the batch, any sample of the order will do.
    let samples = |position: Position| {
        let first = position.begin + row_of(position) + network.group();
        [order.get([first.min(batches.samples - 1)]), order.get([(first + 8).min(batches.samples - 1)])]
    };
    let fetch = |samples: [u32; 2]| Inputs::of(&network, inputs, targets, samples);
    let rule_of = |position: Position| StepRule::new(run.rule, numbers, steps, position.step, position.rows);
    let mut position = Position::begin_of(first_step, first_step * batches.size, batches);
    let mut next = position.next(at_once, batches);
    let mut fetched = fetch(samples(position));
    let mut samples_of_next = samples(next);
    let mut rule = rule_of(position);
    thread::sync_threads();
    while position.step < end_step {
        let (rows, row) = (position.rows, row_of(position));
        if warp::all(network.warp < network.sizes.groups && row < rows) {
            network.train(&fetched, row, rows, position.row > 0);
        }
        // These loads run while the parameters are updated.
        fetched = fetch(samples_of_next);
        let next_rule = rule_of(next);
        let after = next.next(at_once, batches);
        samples_of_next = samples(after);
        if next.step == position.step {
            warp::sync_warp();
        } else {
            thread::sync_threads();
            let loss = owned.update(&network, network.sizes.groups.min(rows.div_ceil(SAMPLES)), rule);
            if Owned::<TILES>::has_loss(&network) {
                run.losses.set(position.step as usize, loss);
            }
            owned.publish(&network);
            thread::sync_threads();
        }
        rule = next_rule;
        (position, next) = (next, after);
    }
    owned.store(&network, run.state);
}

/// Trains the steps `first_step..end_step` of the order in one launch of one block of [`THREADS`] threads, of a network whose layers have at
/// most the tiles that the digits of `TILES` are: those of 142 have up to 8 inputs, 32 units and 16 units, and there are up to
/// [`MAX_OUTPUTS`] outputs.
///
/// The launch has the dynamic shared memory of its [`Plan`], which also says which networks there are kernels for. `steps` has two numbers
/// for each step, as [`network_update_by_adam`](super::network_update_by_adam) takes them; without Adam it is empty. `velocities` and
/// `squares` are empty where the optimizer has none. The kernel writes the summed loss of each step to `losses`.
#[kernel(12, 28, 84, 142, 244, 384, 844, 2442)]
pub fn network_train_small<const TILES: u32>(
    inputs: &[f32],
    targets: &[f32],
    order: &[u32],
    steps: &[f32],
    parameters: GlobalMut<f32>,
    velocities: GlobalMut<f32>,
    squares: GlobalMut<f32>,
    losses: GlobalMut<f32>,
    first_step: u32,
    end_step: u32,
    batches: Batches,
    network: SmallNetwork,
    rule: SmallRule,
) {
    let state = [parameters, velocities, squares];
    let run = Run { inputs, targets, order, steps, state, losses, batches, rule };
    train::<TILES>(run, network, [first_step, end_step]);
}
