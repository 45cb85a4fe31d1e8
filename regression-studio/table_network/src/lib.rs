//! A tabular network that trains on the CPU.
//!
//! - [`Options`]: everything that a run depends on, with defaults for the number of rows and
//!   inputs.
//! - [`Training`]: steps and epochs. Its [`State`] can be saved, and resumed with the same bits.
//!   The caller decides which epoch is the best, and when to stop.
//! - [`TableNetwork`]: the trained network, for predictions.
//!
//! A number passes through a robust scale with a smooth clip (D. Holzmüller, L. Grinsztajn and I.
//! Steinwart, "Better by Default: Strong Pre-Tuned MLPs and Boosted Trees on Tabular Data", 2024).
//! Then it passes through a learned function that is linear between the training part's quantiles
//! (Y. Gorishniy, I. Rubachev and A. Babenko, "On Embeddings for Numerical Features in Tabular Deep
//! Learning", 2022). Several members share the hidden layers. Each has its own scale for every
//! embedded value and its own output (Y. Gorishniy, A. Kotelnikov and A. Babenko, "TabM: Advancing
//! Tabular Deep Learning with Parameter-Efficient Ensembling", 2024). The members are trained
//! separately and predict together. Linear least squares also has a share in the prediction, chosen
//! to minimize the validation error: small tables often do not support more.
//!
//! All values are f32. The same options and rows give the same bits on any number of threads,
//! because no sum's order depends on it. The crate prints nothing and reads no files.
//!
//! ```
//! use ndarray::Array2;
//! use std::ops::ControlFlow;
//! use table_network::{InputKind, Options, Training};
//!
//! let inputs = Array2::from_shape_fn((200, 1), |(row, _)| row as f32 / 100.0 - 1.0);
//! let targets = inputs.mapv(f32::abs);
//! let kinds = [InputKind::Number];
//! let options = Options { hidden: vec![16], ..Options::for_table(200, &kinds) };
//! let mut training = Training::new(options, &kinds, inputs.view(), targets.view())?;
//! let mut smallest = f32::INFINITY;
//! for _epoch in 0..training.options().epochs {
//!     training.train(usize::MAX, &mut |_| ControlFlow::Continue(()));
//!     let outputs = training.end_epoch(inputs.view(), targets.view())?;
//!     let error = outputs.iter().zip(&targets).map(|(output, target)| (output - target).powi(2)).sum();
//!     if error < smallest {
//!         smallest = error;
//!         training.keep_best();
//!     }
//! }
//! let predictions = training.best().predict(inputs.view())?;
//! assert!((predictions[50] - 0.5).abs() < 0.1);
//! # Ok::<(), table_network::Error>(())
//! ```

mod adam;
mod bins;
mod chunk;
mod dropout;
mod encoder;
mod error;
mod gradients;
mod kernels;
mod linear;
mod network;
mod options;
mod parameters;
#[cfg(test)]
mod reference;
mod scale;
mod semidefinite;
mod shards;
mod state;
mod training;

pub use self::error::Error;
pub use self::network::TableNetwork;
pub use self::options::{InputKind, Options};
pub use self::semidefinite::solve_semidefinite;
pub use self::state::{State, Tensor};
pub use self::training::Training;
