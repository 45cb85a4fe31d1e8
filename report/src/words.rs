//! Formatting of values and lists for the report.

pub(crate) use command_line::counted;
use timing::format_seconds;
pub(crate) use timing::grouped;

/// Formats a time with a suitable unit.
pub(crate) fn seconds(seconds: f64) -> String {
    format_seconds(seconds)
}

/// Formats a number with three significant digits; from 100 on, rounded to an integer with digits
/// in groups of three.
pub(crate) fn significant(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 { grouped(&text) } else { text }
}

/// Formats a fraction as a whole percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Formats an accuracy like the homework's programs.
pub(crate) fn accuracy(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// "1 thread", "2 threads".
pub(crate) fn threads(count: usize) -> String {
    counted(count, "thread")
}

/// "2 threads", or "8 threads on 2 cores" if there are more threads than cores.
pub(crate) fn threads_on(count: usize, cores: usize) -> String {
    if count > cores { format!("{} on {}", threads(count), counted(cores, "core")) } else { threads(count) }
}

/// "a", "a and b", "a, b and c".
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A label at the beginning of a sentence, capitalized unless it is a function's name.
pub(crate) fn capitalised(label: &str) -> String {
    let mut letters = label.chars();
    match letters.next() {
        Some(first) if !label.contains('_') => first.to_uppercase().chain(letters).collect(),
        _ => label.to_owned(),
    }
}

/// Bytes per second.
pub(crate) fn bandwidth(bytes_per_second: f64) -> String {
    format!("{} GB/s", significant(bytes_per_second / 1e9))
}

/// Floating-point operations per second.
pub(crate) fn operations(per_second: f64) -> String {
    format!("{} GFLOP/s", significant(per_second / 1e9))
}

/// Bytes of memory or of a cache, in powers of 1024.
pub(crate) fn bytes(count: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(power, _)| count >> power > 0) {
        Some((power, unit)) => {
            let value = count as f64 / (1_u64 << power) as f64;
            if value.fract() < 0.05 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
        }
        None => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let shown = [0.0, 0.0264, 0.9999, 1.0, 9.996, 12.345, 99.96, 424.9, 1_509_613.0, -0.05].map(significant);
        assert_eq!(shown, ["0.000", "0.026", "1.00", "1.00", "10.0", "12.3", "100", "425", "1,509,613", "-0.050"]);
    }

    #[test]
    fn words_agree_with_their_numbers() {
        assert_eq!([threads(1), threads(8)], ["1 thread", "8 threads"]);
        assert_eq!([threads_on(2, 2), threads_on(4, 1)], ["2 threads", "4 threads on 1 core"]);
        assert_eq!(listed(&["1".into(), "2".into(), "4".into()]), "1, 2 and 4");
        assert_eq!([bytes(48 << 10), bytes(5 << 29), bytes(100)], ["48 KiB", "2.5 GiB", "100 bytes"]);
    }
}
