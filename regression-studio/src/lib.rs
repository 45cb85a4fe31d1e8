//! Training of a multilayer perceptron for regression on a table, without programming.
//!
//! - [`table`]: columns, read from a CSV file or generated. [`settings`]: all settings of a run.
//! - [`prepared`]: samples from a table: split, standardised, one-hot encoded; and the baselines to compare with.
//! - [`findings`]: what a user should decide before training.
//! - [`session`]: a training run in its own thread, observed through snapshots.
//! - [`results`], [`plots`], [`importance`]: its metrics and plots, and the features it relies on. [`model`]: the
//!   trained network with its column transform; [`prediction`]: what it predicts for a table.
//! - [`trees`]: gradient-boosted trees, for comparison.
//! - [`fleet`]: several training runs at once; [`cross_validation`]: with another fold or seed each;
//!   [`search`]: with other layers, learning rates and weight decays, each kept as [`tried`] says. [`other_kind`]: a run of the other kind of network, for
//!   comparison. [`intervals`]: how sure a prediction is.
//!   [`contributions`], [`partial_dependence`]: why it is so, for any function of standardised inputs, by the rows of
//!   [`background`]; [`explanation`]: these for a model.
//! - [`saved_run`]: a run as it is saved; [`run_folder`]: a run on disk. [`sigmoid`]: the scaled sigmoid with gain and
//!   threshold.
//!
//! The default feature `window` is the desktop program on top of these. No other module depends on it, and the library
//! prints nothing.

pub(crate) mod at_once;
pub mod background;
pub mod contributions;
pub mod cross_validation;
pub mod explanation;
pub mod findings;
pub mod fleet;
pub mod importance;
pub mod intervals;
pub mod model;
pub mod other_kind;
pub mod partial_dependence;
pub mod plots;
pub mod prediction;
pub mod prepared;
pub mod results;
pub mod run_folder;
pub mod saved_run;
pub mod search;
pub mod session;
pub mod settings;
pub mod sigmoid;
pub mod trained;
pub mod trees;
pub mod tried;
#[cfg(feature = "window")]
pub mod window;

pub use model::Model;
pub use prediction::Predictions;
pub use prepared::{Prepared, prepare};
pub use results::Results;
pub use saved_run::SavedRun;
pub use session::{Session, Snapshot};
pub use settings::Settings;
pub use table::{self, Table};
