//! Timing, comparison and printing for all programs of this workspace.
//!
//! [`measure`] times repeats after a warm-up, [`Report`] prints checks, times and speed-ups in the homework's words or
//! as one JSON object, and [`program`] has the parts common to all programs: the number of worker threads, and one
//! error line with exit code 2 for bad input.

mod digits;
mod measurement;
mod memory;
pub mod program;
mod report;
mod terminal;

pub use digits::grouped;
pub use measurement::{Measurement, format_seconds, measure, seconds_of_repeats};
pub use report::{Report, key};
pub use terminal::{printable, printable_line};

/// Prints a line to stdout as `println!` does, but without a panic if the pipe is closed, and with control characters
/// escaped ([`program::print_line`]).
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::program::print_line(format_args!($($argument)*)) };
}

/// Prints one line to stderr as `eprintln!` does, but without a panic if it is closed, and with control characters
/// escaped ([`program::note_line`]).
#[macro_export]
macro_rules! note {
    ($($argument:tt)*) => { $crate::program::note_line(format_args!($($argument)*)) };
}
