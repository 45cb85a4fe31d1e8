//! Training a multilayer perceptron by mini-batch gradient descent, in single precision.
//!
//! # Buffers
//!
//! | buffer | holds |
//! |---|---|
//! | `inputs` | the samples row by row, *N* × features: floats, or bytes for the kernels with `bytes` in their name, which scale them |
//! | `targets` | the expected outputs, *N* × outputs |
//! | `order` | the sample permutation of the epoch: sample indices |
//! | `parameters` | for each layer its weights, inputs × units row by row, then its biases: (inputs + 1) × units |
//! | `velocities` | the parameters' last updates, in the same layout; empty without momentum; with Adam, the mean gradients m |
//! | `squares` | with Adam, the mean squared gradients v, in the same layout |
//! | `activations`, `errors` | one buffer per layer: batch × units, where the error is ∂loss/∂z |
//! | `state` | one integer: the step, counted from the start of `order` |
//! | `losses` | for each step one partial sum per [`ROWS_PER_BLOCK`] samples of a batch |
//!
//! A step takes the samples `order[step · batch ..]`, fewer in the last step. The device reads the step from `state`,
//! so the launches of a step are the same for every step and can be captured once and replayed.
//!
//! # The launches of a step
//!
//! 1. `network_forward` for each layer, first to last: activation(x · W + b).
//! 2. [`network_output`]: softmax, if there is one; the output layer's error and the loss.
//! 3. `network_backward` for each layer except the first, last to first: (δ · Wᵀ) ⊙ derivative, the error of the layer
//!    below. For a small last layer, [`network_last_layer`] is its forward pass, its output and its backward pass at once.
//! 4. `network_update` for each layer: xᵀ · δ, with the weight update fused. For large batches, where there are too few
//!    tiles to occupy the GPU, `network_gradient` computes partial sums over slices of the batch (split-K) and
//!    [`network_update_from_parts`] adds them in order. With Adam, `network_gradient` and [`network_update_by_adam`]
//!    follow each other for every batch.
//! 5. [`network_next_step`].
//!
//! An evaluation is `network_forward` for each layer, [`network_evaluate`] and [`network_next_step`], with a large
//! batch.
//!
//! One launch for many steps trains small networks: on tables by [`small`], of images in small batches by [`persistent`].
//!
//! The order of every sum's additions depends on the sizes alone: the same input gives the same bits. The matrix
//! products exist with tiles of 16 × 16 and of 64 × 64 cells: large tiles waste less the larger the matrices are. Those of the first layer
//! with samples of bytes exist by tensor cores too, for large batches: `network_forward_bytes_tensor` and `network_gradient_bytes_tensor`.

#![allow(clippy::too_many_arguments, reason = "a kernel's buffers are passed one by one")]

pub mod activation;
mod adam;
mod backward;
mod batch;
mod forward;
mod input;
mod last_layer;
pub mod loss;
mod output;
pub mod persistent;
mod shape;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod small;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod tensor;
mod tile;
mod update;

pub use adam::network_update_by_adam;
pub use backward::{network_backward_16, network_backward_64};
pub use batch::network_next_step;
pub use forward::{network_forward_16, network_forward_64, network_forward_bytes_16, network_forward_bytes_64};
pub use input::ByteScale;
pub use last_layer::{LAST_FEATURES, LAST_THREADS, LAST_UNITS, network_last_layer};
pub use output::{ROWS_PER_BLOCK, network_evaluate, network_output};
pub use shape::{AdamRule, Batches, LayerShape, OutputLayer, UpdateRule};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use tensor::{
    TENSOR_FEATURES, TENSOR_THREADS, TENSOR_UNITS, network_forward_bytes_tensor, network_gradient_bytes_tensor,
    tensor_shared_bytes,
};
pub use tile::THREADS;
pub use update::{
    network_gradient_16, network_gradient_64, network_gradient_bytes_16, network_gradient_bytes_64, network_update_16,
    network_update_64, network_update_bytes_16, network_update_bytes_64, network_update_from_parts,
};
