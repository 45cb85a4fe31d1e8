//! Rows that belong in the same part of the split, namely the rows of a group and exact duplicates.
//! Also orders rows by time.

use std::hash::BuildHasher;

use command_line::counted;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::Table;
use crate::settings::{DataSettings, Duplicates, Settings, SplitOrder};
use crate::table::{Column, Role};

/// Minimum number of units that rows are divided into. With fewer, duplicates are assumed to agree
/// by chance.
const FEWEST: usize = 20;

/// The rows of a table before the split.
pub(super) struct Units {
    /// The rows in the order of the split.
    pub(super) rows: Vec<u32>,
    /// The same rows by unit, in the order of their first rows; `None` if each row is its own unit.
    pub(super) units: Option<Vec<Vec<u32>>>,
    /// One line each.
    pub(super) notes: Vec<String>,
}

impl Units {
    /// Orders the rows and finds the ones that belong together.
    pub(super) fn of(table: &Table, settings: &Settings, mut rows: Vec<u32>) -> Self {
        let (data, mut notes) = (&settings.data, Vec::new());
        if settings.split.order == SplitOrder::Time
            && let Some(column) = time_column(table, data)
        {
            notes.extend(put_in_order(column, &mut rows));
        }
        let group = data.columns.iter().find(|(_, role)| **role == Role::Group);
        if let Some(column) = group.and_then(|(name, _)| table.column(name)) {
            let (unit_of, count) = groups(&rows, column);
            notes.push(format!("the rows of each {} are in one part: {}", column.name(), counted(count, "group")));
            let units = Some(by_unit(&rows, &unit_of, count));
            return Self { rows, units, notes };
        }
        let used: Vec<&Column> =
            data.features.iter().chain([&data.target]).filter_map(|name| table.column(name)).collect();
        let (unit_of, count) = together(&rows, &used);
        let repeated = rows.len() - count;
        if repeated == 0 {
            return Self { rows, units: None, notes };
        }
        let repeat = if repeated == 1 { "repeats" } else { "repeat" };
        let repeats = format!("{} {repeat} another row exactly in features and target", counted(repeated, "row"));
        let may_part = settings.split.duplicates == Duplicates::Apart || settings.split.order == SplitOrder::Time;
        if may_part || count < FEWEST {
            notes.push(format!(
                "{repeats}; such rows may be in different parts, so that the test part is not new to the network"
            ));
            return Self { rows, units: None, notes };
        }
        notes.push(format!("{repeats}: such rows are in one part"));
        let units = Some(by_unit(&rows, &unit_of, count));
        Self { rows, units, notes }
    }
}

/// The date column that orders the rows: the first feature with dates, or else the table's first
/// date column.
pub(crate) fn time_column<'a>(table: &'a Table, data: &DataSettings) -> Option<&'a Column> {
    let features = data.features.iter().filter_map(|name| table.column(name));
    let is_used = |column: &&Column| data.role(column.name()) != Some(Role::Ignore);
    features.chain(table.columns().iter().filter(is_used)).find(|column| column.is_date())
}

/// Sorts the rows by date, rows without a date first. Returns a note unless they were already
/// sorted.
fn put_in_order(column: &Column, rows: &mut [u32]) -> Option<String> {
    let date = |row: &u32| column.number(*row as usize).unwrap_or(f64::NEG_INFINITY);
    if rows.is_sorted_by_key(date) {
        return None;
    }
    let descends = rows.iter().rev().is_sorted_by_key(date);
    rows.sort_by(|a, b| date(a).total_cmp(&date(b)));
    let order = if descends { "which descends in the file" } else { "which is in no order in the file" };
    Some(format!("the rows are ordered by {}, {order}: the newest are the test part", column.name()))
}

/// Like [`together`] for a column of groups, except that each row without a group is its own unit.
fn groups(rows: &[u32], column: &Column) -> (Vec<u32>, usize) {
    let (mut unit_of, known) = together(rows, &[column]);
    // The first row without a group keeps its unit.
    let (mut count, mut has_first) = (known, false);
    for (unit, _) in unit_of.iter_mut().zip(rows).filter(|(_, row)| column.text(**row as usize).is_empty()) {
        if std::mem::replace(&mut has_first, true) {
            *unit = count as u32;
            count += 1;
        }
    }
    (unit_of, count)
}

/// The first row with each combination of values in the columns, in the rows' order.
pub(crate) fn distinct_rows(rows: &[u32], columns: &[&Column]) -> Vec<u32> {
    let (unit_of, _) = together(rows, columns);
    let mut next = 0;
    let mut is_first = |(_, unit): &(&u32, u32)| {
        let is_first = *unit == next;
        next += u32::from(is_first);
        is_first
    };
    rows.iter().zip(unit_of).filter(|row| is_first(row)).map(|(&row, _)| row).collect()
}

/// The unit of each row, and the number of units. Rows with equal values in all of the columns form
/// a unit. Units are numbered in the order of their first rows.
fn together(rows: &[u32], columns: &[&Column]) -> (Vec<u32>, usize) {
    let hasher = DefaultHashBuilder::default();
    let mut hashes = vec![0_u64; rows.len()];
    for column in columns {
        let value = |row: u32| value(column, row);
        hashes.iter_mut().zip(rows).for_each(|(hash, &row)| *hash = hasher.hash_one((*hash, value(row))));
    }
    let is_equal = |a: u32, b: u32| columns.iter().all(|column| value(column, a) == value(column, b));
    // Hash, first row and number of each unit.
    let mut units: HashTable<(u64, u32, u32)> = HashTable::new();
    let unit = |(&row, &hash): (&u32, &u64)| {
        if let Some(&(.., unit)) = units.find(hash, |&(of, first, _)| of == hash && is_equal(first, row)) {
            return unit;
        }
        let unit = units.len() as u32;
        units.insert_unique(hash, (hash, row, unit), |&(hash, ..)| hash);
        unit
    };
    let unit_of = rows.iter().zip(&hashes).map(unit).collect();
    (unit_of, units.len())
}

/// The rows of each unit.
fn by_unit(rows: &[u32], unit_of: &[u32], count: usize) -> Vec<Vec<u32>> {
    let mut units = vec![Vec::new(); count];
    rows.iter().zip(unit_of).for_each(|(&row, &unit)| units[unit as usize].push(row));
    units
}

/// A cell as an integer. Two cells of a column have the same integer if and only if they are equal.
fn value(column: &Column, row: u32) -> u64 {
    match (column.numbers(), column.categories()) {
        // Adding 0 turns −0 into 0; all missing values are the same NaN.
        (Some(numbers), _) => (numbers[row as usize] + 0.0).to_bits(),
        (None, Some(categories)) => u64::from(categories.indices[row as usize]),
        (None, None) => 0,
    }
}
