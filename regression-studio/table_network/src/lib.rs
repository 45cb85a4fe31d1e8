//! A network made for tables, which trains on the CPU.
//!
//! - [`Options`]: all that a run depends on, with defaults by the number of rows and inputs.
//! - [`Training`]: steps, epochs, early stopping; its [`State`] is saved, and resumed to the same bits.
//! - [`TableNetwork`]: the trained network, which predicts.
//!
//! A number passes a robust scale with a smooth clip (D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by Default:
//! Strong Pre-Tuned MLPs and Boosted Trees on Tabular Data", 2024), and a learnt function that is linear between the
//! training part's quantiles (Y. Gorishniy, I. Rubachev and A. Babenko, "On Embeddings for Numerical Features in Tabular
//! Deep Learning", 2022). Several members, each with a scale of every embedded value and an output of its own, share
//! the hidden layers (Y. Gorishniy, A. Kotelnikov and A. Babenko, "TabM: Advancing Tabular Deep Learning with
//! Parameter-Efficient Ensembling", 2024). The members are trained apart and predict together.
//!
//! Everything is f32. The same options and rows give the same bits on any number of threads: no sum's order depends on
//! it. The crate prints nothing and reads no files.

mod adam;
mod bins;
mod chunk;
mod dropout;
mod encoder;
mod error;
mod gradients;
mod kernels;
mod network;
mod options;
mod parameters;
#[cfg(test)]
mod reference;
mod scale;
mod state;
mod training;

pub use self::error::Error;
pub use self::network::TableNetwork;
pub use self::options::{InputKind, Options};
pub use self::state::{State, Tensor};
pub use self::training::{Ending, EpochErrors, Progress, Training};
