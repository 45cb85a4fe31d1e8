//! A multilayer perceptron, trained by mini-batch stochastic gradient descent.
//!
//! - [`network`], [`activation`], [`loss`], [`samples`]: the mathematics and its data. [`mod@reference`] is the plain
//!   implementation.
//! - [`engine`]: the interface of the implementations, and the CPU's. [`predictor`] is the fast
//!   path for inference alone.
//! - [`training`]: epochs, sample permutations, history; [`preset`] holds the homework's and the notebook's settings.
//! - [`diagnosis`]: why a training run fails, and what to change.
//! - [`one_class`]: why a network assigns all samples to one class.
//!
//! The crate does no file I/O and prints nothing. It is separate from `neural-net`, which
//! re-exports it, so the numerical code is optimized in every build profile while the rest compiles
//! fast.

pub mod activation;
pub mod diagnosis;
pub mod engine;
pub mod loss;
pub mod names;
pub mod network;
pub mod one_class;
mod padded;
pub mod predictor;
pub mod preset;
pub mod reference;
pub mod samples;
pub mod training;

pub use activation::Activation;
pub use engine::{CpuEngine, Engine};
pub use loss::Loss;
pub use network::{Architecture, Network};
pub use predictor::Predictor;
pub use samples::{InputRow, Samples};
pub use training::{Hyperparameters, Training};

/// The element types of a network: `f32` and `f64`.
pub trait Scalar: utils::RandomFloat {
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// The value in double precision.
    fn into_f64(self) -> f64;

    /// eˣ, with the same bits on every system. The bits of `exp` depend on the system's C library.
    fn exponential(self) -> Self;

    /// The hyperbolic tangent, with the same bits on every system.
    fn hyperbolic_tangent(self) -> Self;
}

impl Scalar for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn into_f64(self) -> f64 {
        f64::from(self)
    }
    fn exponential(self) -> Self {
        libm::expf(self)
    }
    fn hyperbolic_tangent(self) -> Self {
        libm::tanhf(self)
    }
}

impl Scalar for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
    fn into_f64(self) -> f64 {
        self
    }
    fn exponential(self) -> Self {
        libm::exp(self)
    }
    fn hyperbolic_tangent(self) -> Self {
        libm::tanh(self)
    }
}
