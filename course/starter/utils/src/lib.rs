//! Homework part 1: the building blocks of a neural network. A network is described by the sizes of its layers, inputs
//! first: the weights from layer i to layer i + 1 are sizes\[i\] × sizes\[i + 1\], and the biases of layer i + 1 have
//! length sizes\[i + 1\].

mod activation;
mod batches;
mod lists;
mod weights;

pub use activation::{sigmoid, sigmoid_prime};
pub use batches::create_batches;
pub use lists::add_elementwise;
pub use weights::{random_weights, zeros_biases, zeros_weights};
