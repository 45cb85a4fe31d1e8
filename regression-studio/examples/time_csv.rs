//! Times reading a CSV file: `cargo run -p regression-studio --example time_csv -- FILE [REPEATS]`.
//!
//! Prints the table's size, the minimum and the median of the repeats, and the most memory the process had.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use regression_studio::table::csv;
use timing::{format_seconds, measure};

fn main() -> ExitCode {
    timing::program::run(|| {
        let mut arguments = std::env::args_os().skip(1);
        let path = PathBuf::from(arguments.next().context("which file? time_csv FILE [REPEATS]")?);
        let repeats = match arguments.next() {
            Some(count) => count.to_string_lossy().parse().context("REPEATS is a number from 1 on")?,
            None => std::num::NonZeroUsize::MIN.saturating_add(9),
        };
        let table = csv::read(&path)?;
        println!("{} rows, {} columns", table.rows(), table.columns().len());
        for column in table.columns() {
            let (kind, missing, not_numeric) = (column.kind(), column.missing(), column.not_numeric());
            println!("  {:20} {kind:?}, {missing} missing, {not_numeric} not numeric", column.name());
        }
        drop(table);
        let measurement = measure(repeats, || csv::read(&path));
        let seconds = (format_seconds(measurement.min), format_seconds(measurement.median));
        println!("minimum {}, median {} of {repeats}", seconds.0, seconds.1);
        if let Some(peak) = peak_memory() {
            println!("most memory {peak}");
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The process's largest resident set, where the system tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix("VmHWM:")?.trim().to_owned()))
}
