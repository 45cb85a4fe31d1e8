//! The printed table of times.

use command_line::{counted, say};
use timing::{format_seconds, grouped};

use super::row::Row;

pub(super) fn print(rows: &[Row], threads: usize, has_timestamps: bool) {
    say!(
        "{:>6}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {:>9}  {:>13}  {:>13}",
        "batch",
        "CPU",
        "shader",
        "upload",
        "compute",
        "read-back",
        "ratio",
        "CPU images/s",
        "shader i/s"
    );
    for row in rows {
        let compute = row.compute.map_or("-".to_owned(), |compute| format_seconds(compute.min));
        say!(
            "{:>6}  {:>10}  {:>10}  {:>10}  {compute:>10}  {:>10}  {:>9.3}  {:>13}  {:>13}",
            row.batch,
            format_seconds(row.cpu.min),
            format_seconds(row.shader.min),
            format_seconds(row.upload.min),
            format_seconds(row.read_back.min),
            row.ratio(),
            thousands(row.batch as f64 / row.cpu.min),
            thousands(row.batch as f64 / row.shader.min),
        );
    }
    let repeats = rows.first().map_or(0, |row| row.shader.repeats);
    say!(
        "[*] CPU: {}. shader: with both transfers. upload, compute, read-back: each timed alone, \
         with a wait after it. ratio: shader / CPU; below 1, the shader is faster. Minimum of {} each.",
        counted(threads, "thread"),
        counted(repeats, "run")
    );
    if !has_timestamps {
        say!("[*] compute: not measured, since this adapter has no timestamp queries");
    }
}

/// A number rounded to an integer, with spaces between groups of three digits: 1 234 567.
pub(super) fn thousands(number: f64) -> String {
    grouped(format_args!("{number:.0}")).replace(',', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shader_table_separates_thousands() {
        assert_eq!(
            [0.4, 12.0, 999.6, 123_456.0, 1_234_567.0].map(thousands),
            ["0", "12", "1 000", "123 456", "1 234 567"]
        );
    }
}
