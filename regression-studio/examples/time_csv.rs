//! Times reading a CSV file: `cargo run -p regression-studio --example time_csv -- FILE [REPEATS]`; a number of rows in
//! place of FILE times making the synthetic stock market.
//!
//! Prints the table's size, the minimum and the median of the repeats, and the most memory the process had.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use regression_studio::table::{csv, synthetic};
use timing::{format_seconds, measure, say};

fn main() -> ExitCode {
    timing::program::run(|| {
        let mut arguments = std::env::args_os().skip(1);
        let path = PathBuf::from(arguments.next().context("which file? time_csv FILE [REPEATS]")?);
        let repeats = match arguments.next() {
            Some(count) => count.to_string_lossy().parse().context("REPEATS is a number from 1 on")?,
            None => std::num::NonZeroUsize::MIN.saturating_add(9),
        };
        let rows = path.to_str().and_then(|text| text.parse::<usize>().ok());
        let table = || match rows {
            Some(rows) => Ok(synthetic::stock_market(rows, 1)),
            None => csv::read(&path),
        };
        let first = table()?;
        say!("{} rows, {} columns", first.rows(), first.columns().len());
        for column in first.columns() {
            let (kind, missing, not_numeric) = (column.kind(), column.missing(), column.not_numeric());
            say!("  {:20} {kind:?}, {missing} missing, {not_numeric} not numeric", column.name());
        }
        drop(first);
        let measurement = measure(repeats, table);
        let seconds = (format_seconds(measurement.min), format_seconds(measurement.median));
        say!("minimum {}, median {} of {repeats}", seconds.0, seconds.1);
        if let Some(peak) = peak_memory() {
            say!("most memory {peak}");
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The process's largest resident set, where the system tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix("VmHWM:")?.trim().to_owned()))
}
