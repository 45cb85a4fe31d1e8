//! How certain a prediction is, and why it is what it is: intervals, contributions and partial
//! dependence.

mod contributions;
mod coverage;
mod curves;
mod folds;
mod intervals;
mod saved;
#[path = "../support/mod.rs"]
mod support;
