//! The splits of a cross-validation.

use std::collections::BTreeSet;

use crate::support::{small_settings, small_table};
use regression_studio::prepared::prepare;
use regression_studio::settings::{Duplicates, Fold, SplitOrder};
use regression_studio::table::{Column, Role, Table};

/// The rows of each part of each fold.
fn splits(table: &Table, settings: &regression_studio::Settings, count: usize) -> Vec<[Vec<u32>; 3]> {
    let of_fold = |index| {
        let mut settings = settings.clone();
        settings.split.fold = Some(Fold { index, count });
        let prepared = prepare(table, &settings).unwrap();
        [&prepared.train, &prepared.validation, &prepared.test].map(|part| part.rows.to_vec())
    };
    (0..count).map(of_fold).collect()
}

#[test]
fn each_row_is_tested_once_and_in_one_part_of_each_fold() {
    for count in [2, 3, 5, 10] {
        let folds = splits(&small_table(203, 1), &small_settings(), count);
        let mut tested: Vec<u32> = folds.iter().flat_map(|[.., test]| test.clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..203).collect::<Vec<u32>>());
        for parts in &folds {
            let mut all = parts.concat();
            all.sort_unstable();
            assert_eq!(all, (0..203).collect::<Vec<u32>>());
            let [train, validation, test] = parts.each_ref().map(Vec::len);
            assert!(test.abs_diff(203 / count) <= 1, "{test} of {count}");
            // 70 : 15
            assert!((validation as f64 / (train + validation) as f64 - 15.0 / 85.0).abs() < 0.01);
        }
    }
}

#[test]
fn in_the_order_of_time_each_block_is_tested_by_what_comes_before() {
    let mut settings = small_settings();
    settings.split.order = SplitOrder::Time;
    for (index, [train, validation, test]) in splits(&small_table(120, 1), &settings, 5).into_iter().enumerate() {
        let first = 20 * (index as u32 + 1);
        assert_eq!(test, (first..first + 20).collect::<Vec<u32>>());
        assert_eq!([train, validation].concat(), (0..first).collect::<Vec<u32>>());
    }
}

#[test]
fn groups_and_equal_rows_stay_together() {
    let person = Column::of_numbers("person", (0..210).map(|row| f64::from(row / 6)).collect());
    let columns = small_table(210, 1).columns().iter().cloned().chain([person]).collect();
    let table = Table::new("people", columns);
    let mut settings = small_settings();
    settings.data.columns.insert("person".to_owned(), Role::Group);
    for [train, validation, test] in splits(&table, &settings, 5) {
        let people = |rows: &[u32]| -> BTreeSet<u32> { rows.iter().map(|row| row / 6).collect() };
        let [train, validation, test] = [people(&train), people(&validation), people(&test)];
        assert_eq!(train.len() + validation.len() + test.len(), 35);
        assert_eq!(test.len(), 7);
    }
    settings.data.columns.clear();
    settings.split.duplicates = Duplicates::Together;
    let twice = |column: &Column| match column.numbers() {
        Some(numbers) => Column::of_numbers(column.name(), numbers.repeat(2)),
        None => Column::of_texts(column.name(), &["a"; 120]),
    };
    let table = Table::new("twice", small_table(60, 1).columns().iter().map(twice).collect());
    for [.., test] in splits(&table, &settings, 4) {
        let first: BTreeSet<u32> = test.iter().map(|row| row % 60).collect();
        assert_eq!((first.len(), test.len()), (15, 30));
    }
}
