//! A multilayer perceptron, trained by mini-batch stochastic gradient descent, with its data and its files.
//!
//! - [`network`], [`activation`], [`loss`], [`samples`]: what is computed. [`mod@reference`] computes it slowly and obviously.
//! - [`engine`]: the one door to whatever does the arithmetic fast: the CPU or a GPU. [`predictor`] predicts fast, without training.
//! - [`training`]: epochs, permutations, history; [`preset`] holds the homework's and the notebook's settings.
//! - [`data`]: MNIST's files, their download, and the digits that the program draws itself.
//! - [`model_file`], [`checkpoint`]: weights and interrupted runs on disk, with a [`checksum`]. [`files`] writes them.
//! - [`png`]: pictures of a digit.
//!
//! Three crates are most of it, and are shown here under their modules' names: `perceptron` has the mathematics, which
//! does not depend on files, `digits` the data, and `whole_files` is [`files`]. They are apart so that what is fast is optimised
//! in every build, and what is not compiles fast. Nothing in the library prints.

pub mod checkpoint;
pub mod checksum;
pub mod model_file;
pub mod png;

pub use digits as data;
pub use perceptron::{
    Activation, Architecture, CpuEngine, Engine, GpuEngine, Hyperparameters, InputRow, Loss, Network, Predictor, Real,
    Samples, Training, activation, engine, loss, network, predictor, preset, reference, samples, training,
};
pub use whole_files as files;
