//! Features that number or name the rows.

use std::collections::HashSet;

use super::{Finding, MIN_ROWS};
use crate::table::Column;
use crate::{Settings, Table};

/// Lower-case words that mark an identifier if they are a whole word of a column's name.
const WORDS: [&str; 9] = ["id", "ids", "uid", "uuid", "guid", "key", "rowid", "serial", "idx"];
/// Minimum fraction of distinct values in an identifier.
const MIN_DISTINCT: f64 = 0.9;

pub(super) fn find(table: &Table, features: &[&Column], settings: &Settings) -> Vec<Finding> {
    let of_feature = |column: &&Column| {
        let name = column.name();
        let text = if features.len() > 1 && table.numbers_rows(name) {
            format!("{name} numbers the rows: as a feature it only tells their order")
        } else if is_named_as_one(name) && is_distinct(column) {
            format!("{name} identifies the rows: as a feature it says nothing of new ones")
        } else {
            return None;
        };
        Some(Finding::of_feature(text, name, settings))
    };
    features.iter().filter_map(of_feature).collect()
}

/// Whether a word of the name is one of [`WORDS`]: `id`, `user_id`, `CustomerID`, `passengerId`.
fn is_named_as_one(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for character in name.chars() {
        if !character.is_alphanumeric() || character.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    words.iter().any(|word| WORDS.contains(&word.as_str()))
}

/// Whether nearly every value occurs only once, and all numbers are whole.
fn is_distinct(column: &Column) -> bool {
    let (mut seen, mut count) = (HashSet::new(), 0_usize);
    if let Some(numbers) = column.numbers() {
        for number in numbers.iter().filter(|number| number.is_finite()) {
            if number.fract() != 0.0 {
                return false;
            }
            count += 1;
            seen.insert((number + 0.0).to_bits());
        }
    } else if let Some(categories) = column.categories() {
        count = categories.indices.len() - column.missing();
        seen.extend((0..categories.names.len()).map(|index| index as u64));
    }
    count >= MIN_ROWS && seen.len() as f64 >= MIN_DISTINCT * count as f64
}
