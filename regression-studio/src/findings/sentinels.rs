//! Numbers and dates that often mark a missing value.

use std::collections::HashMap;

use command_line::counted;

use super::{Finding, MAX_ROWS, Remedy};
use crate::table::{Column, toml_key};

/// Numbers that rarely occur otherwise: programs and instruments write them for missing values.
const STRONG: [f64; 19] = [
    999.0,
    9999.0,
    99_999.0,
    999_999.0,
    9_999_999.0,
    99_999_999.0,
    999_999_999.0,
    999.25,
    999.9,
    32_767.0,
    32_768.0,
    2_147_483_647.0,
    2_147_483_648.0,
    1e20,
    1e30,
    1e36,
    9.969_209_968_386_869e36,
    f32::MAX as f64,
    f64::MAX,
];
/// Numbers that also occur as ordinary values.
const WEAK: [f64; 9] = [0.0, 1.0, 9.0, 77.0, 88.0, 98.0, 99.0, 888.0, 777.0];
/// Days since 1970-01-01 at which the calendars of programs begin or end: the first days of the
/// years 1, 1753, 1800, 1900, 1901, 1970, 2100 and 9999, the days next to them, and the last day of
/// 9999.
const DAYS: [f64; 13] = [
    -719_162.0,
    -79_257.0,
    -62_091.0,
    -25_569.0,
    -25_568.0,
    -25_567.0,
    -25_202.0,
    0.0,
    47_481.0,
    47_482.0,
    376_199.0,
    2_932_532.0,
    2_932_896.0,
];
/// Minimum number of different values among the others.
const MIN_OTHERS: usize = 10;
/// Maximum number of sentinels per column.
const MAX_FOUND: usize = 4;

/// The smallest or largest values of a column that may mean "missing".
pub(super) fn find(column: &Column, used: usize) -> Vec<Finding> {
    let Some(numbers) = column.numbers().map(|numbers| &numbers[..used.min(numbers.len())]) else { return Vec::new() };
    let (mut found, mut findings) = (Vec::new(), Vec::new());
    while findings.len() < MAX_FOUND
        && let Some((value, count)) = next(numbers, column.is_date(), &found)
    {
        found.push(value);
        let first = numbers.iter().position(|number| *number == value).unwrap_or_default();
        let (name, cell) = (column.name(), column.text(first).into_owned());
        let text = format!(
            "{name} is {cell} in {}, far from all others: is it missing there? Then declare it in [data.missing]: {} = \
             [{cell:?}]",
            counted(count, "row"),
            toml_key(name)
        );
        findings.push(Finding { text, remedy: Some(Remedy::TakeAsMissing { column: name.to_owned(), cell }) });
    }
    findings
}

/// The smallest or largest value that may mean "missing" and is not in `found`, and its number of
/// rows.
fn next(numbers: &[f64], is_date: bool, found: &[f64]) -> Option<(f64, usize)> {
    let known = || numbers.iter().copied().filter(|number| number.is_finite() && !found.contains(number));
    let [min, max] = [f64::min, f64::max].map(|of| known().reduce(of));
    [min?, max?].into_iter().find_map(|value| Some((value, rows_if_sentinel(value, &known, is_date)?)))
}

/// The number of rows with a value, if it is a sentinel compared with the others.
fn rows_if_sentinel<I: Iterator<Item = f64>>(value: f64, known: &impl Fn() -> I, is_date: bool) -> Option<usize> {
    let size = value.abs();
    let is_strong = if is_date { DAYS.contains(&value) } else { STRONG.contains(&size) };
    let is_weak = !is_date && WEAK.contains(&size) && value != 1.0;
    if !is_strong && !is_weak {
        return None;
    }
    let others = || known().filter(|number| *number != value);
    let (mut low, mut high, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0_usize);
    others().for_each(|number| (low, high, count) = (low.min(number), high.max(number), count + 1));
    let rows = known().count() - count;
    let mut of_value: HashMap<u64, usize> = HashMap::new();
    let every = count.div_ceil(MAX_ROWS).max(1);
    others().step_by(every).for_each(|number| *of_value.entry(number.to_bits()).or_default() += 1);
    if of_value.len() < MIN_OTHERS {
        return None;
    }
    let (range, gap) = (high - low, if value < low { low - value } else { value - high });
    let most = every * of_value.values().copied().max().unwrap_or_default();
    let is_isolated = match is_strong {
        true => gap > range || rows > 1 && gap > 0.25 * range,
        false => rows > 1 && gap > range,
    };
    // A sentinel can also be the most frequent value at the end of the range, if it is far more
    // frequent than any other.
    let is_frequent = (is_strong || value == -1.0 && low >= 0.0) && rows > 5 * most && rows > MIN_OTHERS;
    (is_isolated || is_frequent).then_some(rows)
}
