//! Trains neural networks for regression on a table, without programming.
//!
//! - [`table`]: columns, read from a CSV file or generated. [`settings`]: all settings of a run.
//! - [`prepared`]: samples from a table (split, standardized, one-hot encoded), and baselines for
//!   comparison.
//! - [`findings`]: what a user should decide before training.
//! - [`session`]: a training run in its own thread, observed through snapshots.
//! - [`results`], [`plots`], [`importance`]: a run's metrics, its plots, and the features that the
//!   network relies on. [`model`]: the trained network with its column transform; [`prediction`]:
//!   its predictions for a table.
//! - [`trees`]: gradient-boosted trees, for comparison.
//! - [`fleet`]: several training runs at once; [`cross_validation`]: each with another fold or
//!   seed; [`search`]: each with other layers, learning rates and weight decays, recorded as
//!   [`tried`] runs. [`other_kind`]: a run of the other kind of network, for comparison.
//! - [`intervals`]: how certain a prediction is. [`contributions`], [`partial_dependence`]: why a
//!   prediction is what it is, for any function of standardized inputs, compared with the rows of
//!   [`background`]; [`explanation`]: the same for a model.
//! - [`saved_run`]: a run in its saved form; [`run_folder`]: a run on disk. [`sigmoid`]: the scaled
//!   sigmoid with gain and threshold.
//!
//! The default feature `window` is the desktop program on top of these modules. No other module
//! depends on it, and the library prints nothing.

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
