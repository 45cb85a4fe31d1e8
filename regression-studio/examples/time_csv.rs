//! Times reading a CSV file or generating synthetic market data: `cargo run -p regression-studio
//! --example time_csv -- FILE`, or `-- --rows 800000`. Prints the table's columns, the times, and
//! the process's peak resident memory.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use command_line::{parse_repeats, parse_size};
use regression_studio::table::{Table, csv, synthetic};
use timing::{Report, measure};

/// Time reading a CSV file, or generating synthetic market data
#[derive(Parser)]
struct Arguments {
    /// CSV file to read
    #[arg(value_name = "FILE", required_unless_present = "rows")]
    file: Option<PathBuf>,
    /// Generate a synthetic market of N rows instead of reading a file
    #[arg(long, value_name = "N", value_parser = parse_size, conflicts_with = "file")]
    rows: Option<NonZeroUsize>,
    /// Number of timed calls, after one warm-up call
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_repeats)]
    repeats: NonZeroUsize,
    /// Print one JSON object instead of text; times in seconds per call
    #[arg(long)]
    json: bool,
}

impl Arguments {
    fn table(&self) -> Result<Table, csv::CsvError> {
        match (&self.file, self.rows) {
            (Some(file), _) => csv::read(file),
            (None, rows) => Ok(synthetic::stock_market(rows.map_or(1, NonZeroUsize::get), 1)),
        }
    }
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| {
        let first = arguments.table()?;
        let mut report = Report::new("time_csv", arguments.json);
        report.remark("table", &format!("{} rows, {} columns", first.rows(), first.columns().len()));
        for column in first.columns() {
            let (kind, missing, not_numeric) = (column.kind(), column.missing(), column.not_numeric());
            report.remark(
                column.name(),
                &format!("{}: {kind:?}, {missing} missing, {not_numeric} not numeric", column.name()),
            );
        }
        drop(first);
        let label = if arguments.file.is_some() { "Read" } else { "Make" };
        report.time(label, "", measure(arguments.repeats, || arguments.table()));
        if let Some(peak) = peak_memory() {
            report.remark("peak_memory", &format!("peak resident memory {peak}"));
        }
        Ok(report.finish())
    })
}

/// The process's peak resident set size (VmHWM), if the system reports it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix("VmHWM:")?.trim().to_owned()))
}
