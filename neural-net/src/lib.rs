//! A multilayer perceptron, trained by mini-batch stochastic gradient descent, with its data and its files.
//!
//! - [`network`], [`activation`], [`loss`], [`samples`]: the mathematics and its data. [`mod@reference`] is the plain
//!   implementation.
//! - [`engine`]: the interface of the CPU and GPU implementations. [`predictor`] is the fast path
//!   for inference alone.
//! - [`training`]: epochs, sample permutations, history; [`preset`] holds the homework's and the notebook's settings.
//! - [`diagnosis`]: why a training run fails, and what to change.
//! - [`one_class`]: why a network assigns all samples to one class.
//! - [`augmented`]: training on distorted images.
//! - [`distributed`]: training by ranks that exchange messages; [`asynchronous`]: by workers and masters.
//! - [`device`]: the choice of the device to train on.
//! - [`data`]: MNIST's files, how to download them, and synthetic digits.
//! - [`model_file`], [`checkpoint`]: networks and training runs on disk, with a [`checksum`]. [`files`] writes them.
//! - [`png`]: PNG images of a digit.
//!
//! From an image to a weight: [`data::Dataset::read`] reads MNIST's files, and
//! [`data::ToSamples::samples`] turns images into samples. [`Training::run`] loops over the epochs,
//! [`training::EpochSteps::train`] over the steps of an epoch, and [`Engine::train`] changes the
//! weights in each step: [`CpuEngine`] on the CPU, [`GpuEngine`] on a GPU.
//!
//! On the CPU (`perceptron/src/engine/cpu`), `steps.rs` runs the steps. Without a thread team,
//! `Steps::run_chunks` does this: `ChunkInputs::copy_in` (`chunk.rs`) copies the bytes of a batch,
//! which the first layer's product (`kernels_cpu::nonzero_product`) converts to floats; `Chunk`
//! runs the forward and backward passes; `Layer::update` (`layer.rs`) changes the weights.
//!
//! Most of the code is in three crates, re-exported here under their modules' names: `perceptron`
//! has the mathematics, which does not depend on files, `digits` has the data, and `whole_files` is
//! [`files`]. They are separate crates, so the numerical code is optimized in every build profile
//! while the rest compiles fast. Nothing in the library prints.

pub mod asynchronous;
pub mod augmented;
pub mod checkpoint;
pub mod checksum;
pub mod data;
pub mod device;
pub mod distributed;
pub mod model_file;
pub mod png;

pub use gpu_engine::GpuEngine;
pub use perceptron::{
    Activation, Architecture, CpuEngine, Engine, Hyperparameters, InputRow, Loss, Network, Predictor, Samples, Scalar,
    Training, activation, diagnosis, loss, names, network, one_class, predictor, preset, reference, samples, training,
};
/// The interface for training and evaluation, and its implementations on the CPU and on a GPU.
pub mod engine {
    pub use gpu_engine::{GpuEngine, GpuEngineError, GpuOptions, GpuPath, NotPersistent, TrainingKernel, shard_engine};
    pub use perceptron::engine::*;
}

pub use whole_files as files;
