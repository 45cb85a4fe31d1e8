//! Homework part 1: the building blocks of a neural network.
//!
//! A network is described by its layers' sizes, input first. The weights from layer *i* to layer
//! *j* have shape sizeᵢ × sizeⱼ, and the biases of layer *j* have length sizeⱼ. An image is thus a
//! row vector x, and the layer's input is x·W + b.
//!
//! All functions support `f32` and `f64`.

mod activation;
mod batches;
mod error;
mod lists;
mod weights;
mod zeros;

pub use activation::{sigmoid, sigmoid_prime, sigmoid_prime_scalar, sigmoid_scalar};
pub use batches::create_batches;
pub use error::UtilsError;
pub use lists::add_elementwise;
pub use weights::{RandomFloat, random_weights};
pub use zeros::{zeros_biases, zeros_weights};
