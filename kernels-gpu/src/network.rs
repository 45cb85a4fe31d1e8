//! Training a multilayer perceptron by mini-batch gradient descent, in single precision.
//!
//! # What lies in memory
//!
//! | buffer | holds |
//! |---|---|
//! | `inputs` | the samples row by row, *N* × features |
//! | `targets` | what the network should say, *N* × outputs |
//! | `order` | the samples' numbers in the order of this epoch |
//! | `parameters` | for each layer its weights, inputs × units row by row, then its biases: (inputs + 1) × units |
//! | `velocities` | the parameters' last changes, in the same places; empty without momentum |
//! | `activations`, `errors` | one buffer for each layer: batch × units, where the error is ∂loss/∂z |
//! | `state` | one number: the step, counted from the start of `order` |
//! | `losses` | for each step one partial sum for every [`ROWS_PER_BLOCK`] samples of a batch |
//!
//! A step takes the samples `order[step · batch ..]`, fewer in the last step. All of that is found on the device: the
//! launches of a step are the same for every step, and can be recorded once and replayed.
//!
//! # The launches of a step
//!
//! 1. `network_forward` for each layer, first to last: activation(x · W + b).
//! 2. [`network_output`]: softmax, if there is one; the output layer's error and the loss.
//! 3. `network_backward` for each layer but the first, last to first: (δ · Wᵀ) ⊙ derivative, the error below.
//! 4. `network_update` for each layer: xᵀ · δ, which changes the weights at once. Where a batch is so large that too few
//!    blocks would share the work, `network_gradient` computes partial sums and [`network_update_from_parts`] adds
//!    them, in order.
//! 5. [`network_next_step`].
//!
//! An evaluation is `network_forward` for each layer, [`network_evaluate`] and [`network_next_step`], with a large batch.
//!
//! For small networks and batches there is [`persistent`]: one launch for many steps.
//!
//! Every sum is added up in an order that depends on the sizes alone: the same input gives the same bits. The matrix
//! products exist with tiles of 16 × 16 and of 64 × 64 cells: few and large blocks waste the less the larger the
//! matrices are.

#![allow(clippy::too_many_arguments, reason = "a launch has no other way to tell a kernel what it is about")]

pub mod activation;
mod backward;
mod batch;
mod forward;
pub mod loss;
mod output;
pub mod persistent;
mod tile;
mod update;

pub use backward::{network_backward_16, network_backward_64};
pub use batch::network_next_step;
pub use forward::{network_forward_16, network_forward_64};
pub use output::{ROWS_PER_BLOCK, network_evaluate, network_output};
pub use tile::THREADS;
pub use update::{
    network_gradient_16, network_gradient_64, network_update_16, network_update_64, network_update_from_parts,
};
