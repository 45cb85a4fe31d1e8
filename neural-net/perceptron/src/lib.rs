//! A multilayer perceptron, trained by mini-batch stochastic gradient descent.
//!
//! - [`network`], [`activation`], [`loss`], [`samples`]: what is computed. [`mod@reference`] computes it slowly and obviously.
//! - [`engine`]: the one door to whatever does the arithmetic fast: the CPU or a GPU. [`predictor`] predicts fast, without training.
//! - [`training`]: epochs, permutations, history; [`preset`] holds the homework's and the notebook's settings.
//!
//! It knows no files, and prints nothing. It is a crate apart from `neural-net`, which is its face, so that what is fast is
//! optimised in every build, and what is not compiles fast.

pub mod activation;
mod compiled_once;
pub mod engine;
pub mod loss;
pub mod network;
mod padded;
pub mod predictor;
pub mod preset;
pub mod reference;
pub mod samples;
pub mod training;

pub use activation::Activation;
pub use engine::{CpuEngine, Engine, GpuEngine};
pub use loss::Loss;
pub use network::{Architecture, Network};
pub use predictor::Predictor;
pub use samples::{InputRow, Samples};
pub use training::{Hyperparameters, Training};

/// The element types of a network: `f32` and `f64`.
pub trait Real: utils::Element + kernels_cpu::Real + compiled_once::CompiledOnce {
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// The value in double precision.
    fn into_f64(self) -> f64;
}

impl Real for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn into_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
    fn into_f64(self) -> f64 {
        self
    }
}
