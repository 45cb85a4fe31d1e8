//! How sure a prediction is, and why it is so: intervals, contributions and partial dependence.

mod contributions;
mod coverage;
mod curves;
mod folds;
mod intervals;
mod saved;
#[path = "../support/mod.rs"]
mod support;
