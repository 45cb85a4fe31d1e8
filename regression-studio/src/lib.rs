//! Trains a multilayer perceptron on a table of numbers, for people who don't program.
//!
//! - [`table`]: columns, read from a CSV file or made up. [`settings`]: everything that the user chooses.
//! - [`prepared`]: samples made of a table: split, standardised, one-hot, with the baselines beside which a network is judged.
//! - [`session`]: a training in its own thread, which is watched by snapshots.
//! - [`results`], [`plots`]: what came of it. [`model`]: the trained network with all that a prediction needs.
//! - [`run_folder`]: all of it on disk. [`sigmoid`]: the scaled sigmoid with gain and threshold.
//!
//! `window`, a feature that is on by default, is the desktop program over all of it. Nothing else here knows it; nothing prints.

pub mod model;
pub mod plots;
pub mod prepared;
pub mod results;
pub mod run_folder;
pub mod session;
pub mod settings;
pub mod sigmoid;
#[cfg(feature = "window")]
pub mod window;

pub use model::Model;
pub use prepared::{Prepared, prepare};
pub use results::Results;
pub use run_folder::Run;
pub use session::{Session, Snapshot};
pub use settings::Settings;
pub use table::{self, Table};
