//! Measurements and reports of the homework's programs.
//!
//! [`measure`] times repeats after a warm-up. [`Report`] prints checks, times and speed-ups in the
//! homework's words or as one JSON object.

mod digits;
mod measurement;
mod report;
mod rule;

pub use digits::grouped;
pub use measurement::{Measurement, format_seconds, measure, seconds_of_repeats};
pub use report::{Report, key};
pub use rule::{Judgement, Rule};
