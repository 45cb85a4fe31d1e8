//! The split of rows by ratio, and standardization by the training part only.

use crate::support::{small_settings, small_table};
use ndarray::Axis;
use proptest::prelude::*;
use regression_studio::prepared::{Input, PrepareError, Prepared, Scale, Transform, part_sizes, prepare, split};
use regression_studio::settings::{BadRows, SplitOrder, SplitSettings};
use regression_studio::table::{Column, Table};

proptest! {
    #[test]
    fn every_row_is_in_one_part_and_none_is_empty(
        count in 4_usize..3000, train in 0.01_f64..100.0, validation in 0.01_f64..100.0, test in 0.01_f64..100.0,
        is_time in any::<bool>(), seed in any::<u64>(),
    ) {
        let order = if is_time { SplitOrder::Time } else { SplitOrder::Shuffled };
        let settings = SplitSettings { train, validation, test, order, seed, ..SplitSettings::default() };
        let rows: Vec<u32> = (0..count as u32).map(|row| 3 * row + 1).collect();
        let parts = split(rows.clone(), &settings);
        prop_assert_eq!(parts.each_ref().map(Vec::len), part_sizes(count, &settings));
        prop_assert!(parts[0].len() >= 2 && !parts[1].is_empty() && !parts[2].is_empty());
        prop_assert!(parts.iter().all(|part| part.is_sorted()));
        let mut all = parts.concat();
        if is_time {
            prop_assert_eq!(&all, &rows);
        }
        all.sort_unstable();
        prop_assert_eq!(all, rows);
        // Sizes match the ratio, up to rounding and the minimum sizes.
        let exact = [train, validation, test].map(|part| count as f64 * part / (train + validation + test));
        for (part, exact) in parts.iter().zip(exact) {
            prop_assert!((part.len() as f64 - exact).abs() <= 3.0, "{} not {exact}", part.len());
        }
    }
}

#[test]
fn the_split_is_deterministic_in_the_seed() {
    let rows: Vec<u32> = (0..1000).collect();
    let seeded = |seed| split(rows.clone(), &SplitSettings { seed, ..SplitSettings::default() });
    assert_eq!(seeded(1), seeded(1));
    assert_ne!(seeded(1), seeded(2));
    let in_time = SplitSettings { order: SplitOrder::Time, ..SplitSettings::default() };
    assert_eq!(split(rows, &in_time), [(0..700).collect::<Vec<u32>>(), (700..850).collect(), (850..1000).collect()]);
}

#[test]
fn all_parts_are_standardised_by_the_training_part() {
    let table = small_table(1000, 1);
    let prepared = prepare(&table, &small_settings()).unwrap();
    let inputs = prepared.train.samples.inputs().mapv(f64::from);
    let means = inputs.mean_axis(Axis(0)).unwrap();
    let variances = inputs.mapv(|x| x * x).mean_axis(Axis(0)).unwrap();
    assert!(means.iter().all(|mean| mean.abs() < 1e-6), "{means}");
    assert!(variances.iter().all(|variance| (variance - 1.0).abs() < 1e-5), "{variances}");

    // Recompute the values from the table.
    let x = table.column("x").unwrap().numbers().unwrap();
    let train: Vec<f64> = prepared.train.rows.iter().map(|&row| x[row as usize]).collect();
    let mean = train.iter().sum::<f64>() / 700.0;
    let deviation = (train.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 700.0).sqrt();
    for (_, part) in prepared.parts() {
        for (sample, &row) in part.rows.iter().enumerate() {
            let expected = ((x[row as usize] - mean) / deviation) as f32;
            assert!((part.samples.input(sample)[0] - expected).abs() < 1e-6);
        }
    }
}

/// Changing validation and test rows does not change the training part or the transform.
#[test]
fn validation_and_test_do_not_leak_into_training() {
    let mut settings = small_settings();
    settings.split.order = SplitOrder::Time;
    let (table, other) = (small_table(100, 1), small_table(100, 2));
    let mixed = |name: &str| {
        let of = |table: &Table| table.column(name).unwrap().numbers().unwrap().to_vec();
        Column::of_numbers(name, [&of(&table)[..70], &of(&other)[70..]].concat())
    };
    let texts: Vec<String> = (0..100).map(|row| table.column("direction").unwrap().text(row).into_owned()).collect();
    let columns = vec![mixed("x"), mixed("y"), Column::of_texts("direction", &texts), mixed("target")];
    let (a, b) = (prepare(&table, &settings).unwrap(), prepare(&Table::new("mixed", columns), &settings).unwrap());
    assert_eq!(a.train.samples.inputs(), b.train.samples.inputs());
    assert_eq!(a.train.samples.targets(), b.train.samples.targets());
    // The ranges cover all rows. Predictions are marked and intervals are clamped by them.
    let without_ranges = |prepared: &Prepared| {
        let mut transform = Transform { target_range: None, ..prepared.transform.clone() };
        for input in &mut transform.inputs {
            if let Input::Number { range, .. } = input {
                *range = None;
            }
        }
        transform
    };
    assert_eq!(without_ranges(&a), without_ranges(&b));
    assert_ne!(a.transform, b.transform);
    assert_ne!(a.test.samples.inputs(), b.test.samples.inputs());
}

#[test]
fn constant_columns_are_removed_with_a_note() {
    let columns = |constant: f64| {
        let numbers = (0..50).map(f64::from).collect();
        vec![
            Column::of_numbers("x", numbers),
            Column::of_numbers("constant", vec![constant; 50]),
            Column::of_texts("same", &["a"; 50]),
            Column::of_numbers("target", (0..50).map(|i| f64::from(i * i)).collect()),
        ]
    };
    // The rounded mean of fifty times 0.1 differs from 0.1.
    for constant in [0.1, 0.0, 1e300, -5.0] {
        let mut settings = small_settings();
        settings.data.features = ["x", "constant", "same"].map(str::to_owned).to_vec();
        let prepared = prepare(&Table::new("t", columns(constant)), &settings).unwrap();
        assert_eq!(prepared.transform.inputs.len(), 1);
        assert_eq!(prepared.notes.len(), 2, "{:?}", prepared.notes);
        settings.data.features.remove(0);
        let rejected = prepare(&Table::new("t", columns(constant)), &settings);
        assert!(matches!(rejected, Err(PrepareError::ConstantFeatures { .. })), "{rejected:?}");
    }
}

#[test]
fn constant_targets_too_few_rows_and_too_large_numbers_are_rejected() {
    let settings = small_settings();
    let message = |table: &Table| prepare(table, &settings).unwrap_err().to_string();
    let table = small_table(60, 1);
    let mut columns = table.columns().to_vec();
    columns[3] = Column::of_numbers("target", vec![7.5; 60]);
    assert_eq!(
        message(&Table::new("t.csv", columns.clone())),
        "t.csv: the target \"target\" is 7.5 in every row of the training part: choose another target"
    );
    columns[0] = Column::of_numbers("x", (0..60).map(|i| if i % 2 == 0 { 1e300 } else { -1e300 }).collect());
    assert!(message(&Table::new("t.csv", columns)).contains("mean and variance of \"x\" are out of range"));
    assert_eq!(
        message(&small_table(3, 1)),
        "a small table: 3 of 3 rows are complete, but at least 4 are required: choose a larger table"
    );
    assert!(prepare(&small_table(4, 1), &settings).is_ok());
}

#[test]
fn incomplete_rows_are_dropped_and_counted_or_reported() {
    let table = small_table(60, 1);
    let mut columns = table.columns().to_vec();
    let mut x = columns[0].numbers().unwrap().to_vec();
    (x[10], x[20]) = (f64::NAN, f64::INFINITY);
    columns[0] = Column::of_numbers("x", x);
    let mut texts: Vec<String> = (0..60).map(|row| columns[2].text(row).into_owned()).collect();
    texts[5].clear();
    columns[2] = Column::of_texts("direction", &texts);
    let table = Table::new("t.csv", columns);
    let mut settings = small_settings();
    let prepared = prepare(&table, &settings).unwrap();
    assert_eq!(prepared.dropped, 3);
    assert_eq!(prepared.notes, ["3 of 60 rows were dropped: 2 lack a value, 1 has a value that cannot be read"]);
    assert!(prepared.parts().iter().all(|(_, part)| part.rows.iter().all(|row| ![5, 10, 20].contains(row))));

    settings.data.bad_rows = BadRows::Error;
    let message = prepare(&table, &settings).unwrap_err().to_string();
    assert!(message.starts_with("t.csv, row 6, column \"direction\": the value is missing:"), "{message}");
    settings.data.features = vec!["x".to_owned(), "y".to_owned()];
    let message = prepare(&table, &settings).unwrap_err().to_string();
    assert!(message.starts_with("t.csv, row 11, column \"x\": the value is missing:"), "{message}");
    settings.data.samples = Some(10);
    assert!(prepare(&table, &settings).is_ok(), "the bad rows are not used");
}

#[test]
fn missing_features_are_filled_in_from_the_training_part() {
    let mut columns = small_table(60, 1).columns().to_vec();
    let mut x = columns[0].numbers().unwrap().to_vec();
    (x[10], x[20], x[30]) = (f64::NAN, f64::INFINITY, 1000.0);
    columns[0] = Column::of_numbers("x", x.clone());
    let mut texts: Vec<String> = (0..60).map(|row| columns[2].text(row).into_owned()).collect();
    texts[5].clear();
    columns[2] = Column::of_texts("direction", &texts);
    let target = small_settings().data.target;
    let position = columns.iter().position(|column| column.name() == target).unwrap();
    let mut targets = columns[position].numbers().unwrap().to_vec();
    targets[7] = f64::NAN;
    columns[position] = Column::of_numbers(&target, targets);
    let table = Table::new("t.csv", columns);

    for bad_rows in [BadRows::Mean, BadRows::Median] {
        let mut settings = small_settings();
        settings.data.bad_rows = bad_rows;
        let prepared = prepare(&table, &settings).unwrap();
        assert_eq!(
            (prepared.dropped, &*prepared.notes[0]),
            (1, "1 of 60 rows was dropped: 1 lacks a value in the target")
        );
        assert_eq!(prepared.parts().iter().map(|(_, part)| part.rows.len()).sum::<usize>(), 59);

        let mut present: Vec<f64> =
            prepared.train.rows.iter().map(|&row| x[row as usize]).filter(|x| x.is_finite()).collect();
        present.sort_by(f64::total_cmp);
        let expected = match bad_rows {
            BadRows::Mean => present.iter().sum::<f64>() / present.len() as f64,
            _ => present[present.len() / 2],
        };
        let Input::Number { scale, fill: Some(fill), .. } = &prepared.transform.inputs[0] else {
            panic!("{:?}", prepared.transform.inputs[0])
        };
        assert!((fill - expected).abs() <= 1e-12 * expected.abs(), "{bad_rows:?}: {fill} instead of {expected}");
        for (_, part) in prepared.parts() {
            for (inputs, &row) in part.samples.inputs().rows().into_iter().zip(part.rows.iter()) {
                let value = Some(x[row as usize]).filter(|x| x.is_finite()).unwrap_or(*fill);
                assert_eq!(inputs[0], scale.standardised(value), "row {row}");
                if row == 5 {
                    let is_no_category = |(input, value): (&Input, &f32)| match input {
                        Input::Text { scale, .. } => *value == scale.standardised(0.0),
                        Input::Number { .. } => true,
                    };
                    assert!(prepared.transform.inputs.iter().zip(inputs).all(is_no_category));
                }
            }
        }
        // The same rows are complete for a prediction, which needs no target.
        let is_complete = prepared.transform.complete_rows(&table).unwrap();
        let inputs = prepared.transform.encode(&table, &(0..table.rows() as u32).collect::<Vec<_>>());
        assert!(is_complete.iter().all(|is_complete| *is_complete) && inputs.iter().all(|input| input.is_finite()));
    }

    // Only the last row has a value, and it is in the test part.
    let only_last = Column::of_numbers("x", [vec![f64::NAN; 59], vec![1.0]].concat());
    let table = Table::new("t.csv", [vec![only_last], table.columns()[1..].to_vec()].concat());
    let mut settings = small_settings();
    settings.data.bad_rows = BadRows::Mean;
    settings.split.order = SplitOrder::Time;
    let prepared = prepare(&table, &settings).unwrap();
    assert!(prepared.notes.iter().any(|note| note == "x is missing in the whole training part and was removed"));
}

proptest! {
    #[test]
    fn standardisation_is_invertible(values in prop::collection::vec(-1e6_f64..1e6, 2..50), log in any::<bool>()) {
        prop_assume!(values.iter().any(|value| *value != values[0]));
        let scale = Scale::fit(&values, log).unwrap().unwrap();
        for value in values {
            let back = scale.original(f64::from(scale.standardised(value)));
            prop_assert!((back - value).abs() <= 1e-4 * value.abs().max(1.0) * scale.deviation.max(1.0), "{value} {back}");
        }
    }
}
