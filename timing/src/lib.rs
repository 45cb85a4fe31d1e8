//! How everything in this workspace is timed, compared and printed.
//!
//! [`measure`] times repeats after a warm-up, [`Report`] prints checks, times and speed-ups in the homework's words or
//! as one JSON object, and [`program`] holds what every program shares: the number of worker threads, and one clear
//! line with exit code 2 for bad input.

mod measurement;
pub mod program;
mod report;

pub use measurement::{Measurement, format_seconds, measure, seconds_of_repeats};
pub use report::Report;

/// Prints a line to stdout as `println!` does, but without a panic where nobody reads it ([`program::print_line`]).
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::program::print_line(format_args!($($argument)*)) };
}
