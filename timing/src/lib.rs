//! How everything in this workspace is timed, compared and printed.
//!
//! [`measure`] times repeats after a warm-up, [`Report`] prints checks, times and speed-ups in the homework's words or
//! as one JSON object, and [`program`] holds what every program shares: the number of worker threads, and one clear
//! line with exit code 2 for bad input.

mod measurement;
pub mod program;
mod report;

pub use measurement::{Measurement, format_seconds, measure};
pub use report::Report;
