//! The coverage of intervals on rows that neither the weights nor the intervals depend on.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use regression_studio::intervals::{Intervals, MeasuredIntervals};
use regression_studio::settings::SplitOrder;
use regression_studio::table::{Column, Role, Table};
use regression_studio::{Predictions, Settings};

use crate::support::{csv_of, small_settings, small_table, trained};

/// Like [`small_table`], with noise that depends on x, and a column `person`.
pub(super) fn noisy_table(rows: usize, seed: u64) -> Table {
    let (table, mut rng) = (small_table(rows, seed), ChaCha8Rng::seed_from_u64(seed + 1));
    let x = table.column("x").unwrap().numbers().unwrap();
    let target = table.column("target").unwrap().numbers().unwrap().iter().zip(x);
    let mut noise = || (0..4).map(|_| rng.random_range(-1.0..1.0)).sum::<f64>();
    let noisy = target.map(|(target, x)| target + (0.2 + x.abs()) * noise()).collect();
    let columns = table.columns().iter().filter(|column| column.name() != "target").cloned();
    let person = Column::of_numbers("person", (0..rows).map(|row| (row / 7) as f64).collect());
    Table::new("a noisy table", columns.chain([Column::of_numbers("target", noisy), person]).collect())
}

fn settings() -> Settings {
    let mut settings = small_settings();
    settings.training.epochs = 6;
    settings
}

fn measured(table: Table, settings: Settings) -> MeasuredIntervals {
    trained(table, settings).results.as_ref().unwrap().intervals.clone().unwrap()
}

/// Twenty splits. Each coverage is measured on 300 test rows with intervals from 300 calibration
/// rows. Its standard deviation is a beta-binomial variable's, about √(0.9·0.1·(1/300 + 1/300)).
/// The mean's deviation is less than a quarter of that.
#[test]
fn ninety_percent_intervals_cover_ninety_percent() {
    for log in [false, true] {
        let mut coverages = Vec::new();
        for seed in 0..20 {
            let mut settings = settings();
            settings.data.log_target = log;
            (settings.split.seed, settings.training.seed) = (seed, seed);
            (settings.split.train, settings.split.validation, settings.split.test) = (40.0, 30.0, 30.0);
            let measured = measured(noisy_table(1000, 7), settings);
            assert_eq!((measured.percent, measured.rows, measured.is_logarithmic), (90, 300, log));
            coverages.push(measured.coverage.unwrap());
        }
        let deviation = (0.09 * 2.0 / 300.0_f64).sqrt();
        let mean = coverages.iter().sum::<f64>() / 20.0;
        assert!((mean - 0.9).abs() < 4.0 * deviation / 20.0_f64.sqrt(), "{mean}: {coverages:?}");
        assert!(coverages.iter().all(|coverage| (coverage - 0.9).abs() < 4.5 * deviation), "{coverages:?}");
    }
}

/// Normalized intervals are narrow where the spread is small, and have the same coverage.
#[test]
fn intervals_that_are_normalised_by_the_spread_cover_each_part_alike() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    let mut rows = |count: usize| -> (Vec<f64>, Vec<f64>) {
        let spreads: Vec<f64> = (0..count).map(|row| if row % 2 == 0 { 0.1 } else { 3.0 }).collect();
        (spreads.iter().map(|spread| spread * rng.random_range(-1.0..1.0)).collect(), spreads)
    };
    let ((residuals, spreads), (new, of_new)) = (rows(2000), rows(20_000));
    let (plain, normalised) =
        (Intervals::calibrate(&residuals, None, None), Intervals::calibrate(&residuals, Some(&spreads), None));
    let every_second = |values: &[f64]| -> Vec<f64> { values.iter().copied().step_by(2).collect() };
    let narrow = (every_second(&new), every_second(&of_new));
    assert_eq!(plain.coverage(90, &narrow.0, None, None), Some(1.0));
    for (residuals, spreads) in [(&new, &of_new), (&narrow.0, &narrow.1)] {
        let coverage = normalised.coverage(90, residuals, Some(spreads), None).unwrap();
        assert!((coverage - 0.9).abs() < 0.03, "{coverage}");
    }
}

#[test]
fn splits_by_time_and_by_groups_have_intervals() {
    let mut by_time = settings();
    by_time.split.order = SplitOrder::Time;
    let mut by_person = settings();
    by_person.data.columns.insert("person".to_owned(), Role::Group);
    for settings in [by_time, by_person] {
        let measured = measured(noisy_table(700, 2), settings);
        assert!((0.7..=1.0).contains(&measured.coverage.unwrap()), "{measured:?}");
    }
}

/// Each row occurs five times. Intervals are as wide as if each occurred once, and cover the groups
/// as stated.
#[test]
fn intervals_cover_groups_of_equal_rows() {
    let mut coverages = Vec::new();
    for seed in 0..20 {
        let once = noisy_table(260, 7);
        let repeated = once.columns().iter().map(|column| {
            let rows = (0..1300).map(|row| row / 5);
            match column.numbers() {
                Some(numbers) => Column::of_numbers(column.name(), rows.map(|row| numbers[row]).collect()),
                None => Column::of_texts(column.name(), &rows.map(|row| column.text(row)).collect::<Vec<_>>()),
            }
        });
        let mut settings = settings();
        (settings.split.seed, settings.training.seed) = (seed, seed);
        (settings.split.train, settings.split.validation, settings.split.test) = (40.0, 30.0, 30.0);
        let measured = measured(Table::new("repeated rows", repeated.collect()), settings);
        let [of_calibration, of_test] = measured.groups.unwrap();
        assert!((75..=81).contains(&of_calibration) && (75..=81).contains(&of_test), "{measured:?}");
        assert!(
            measured
                .in_words(|value| value.to_string())
                .ends_with(&format!("if each of its {of_test} groups counts once."))
        );
        coverages.push(measured.coverage.unwrap());
    }
    let (mean, deviation) = (coverages.iter().sum::<f64>() / 20.0, (0.09 * 2.0 / 78.0_f64).sqrt());
    assert!((mean - 0.9).abs() < 4.0 * deviation / 20.0_f64.sqrt(), "{mean}: {coverages:?}");
}

/// The network's errors are larger on the test part than on the rows before it.
#[test]
fn intervals_that_do_not_hold_are_named() {
    let table = |factor: f64| {
        let table = noisy_table(1000, 3);
        let column = |column: &Column| match column.name() {
            "target" => {
                let later = |(row, target): (usize, &f64)| if row < 850 { *target } else { factor * target };
                Column::of_numbers("target", column.numbers().unwrap().iter().enumerate().map(later).collect())
            }
            _ => column.clone(),
        };
        Table::new("a table", table.columns().iter().map(column).collect())
    };
    for (factor, is_too_narrow) in [(1.0, false), (4.0, true)] {
        let mut settings = settings();
        settings.split.order = SplitOrder::Time;
        let measured = measured(table(factor), settings);
        let words = measured.in_words(|value| value.to_string());
        assert_eq!(
            (measured.is_too_narrow, words.ends_with("too narrow for this table.")),
            (is_too_narrow, is_too_narrow)
        );
    }
}

/// A nonnegative target near 0, learned directly and through its logarithm.
#[test]
fn the_ends_of_an_interval_have_the_sign_of_the_target() {
    let table = noisy_table(600, 5);
    let positive = |sign: f64| {
        let column = |column: &Column| match column.name() {
            "target" => {
                let numbers = column.numbers().unwrap().iter().map(|target| sign * (target - 1.0).exp());
                Column::of_numbers("target", numbers.collect())
            }
            _ => column.clone(),
        };
        Table::new("a table", table.columns().iter().map(column).collect())
    };
    for (sign, log) in [(1.0, false), (1.0, true), (-1.0, false), (-1.0, true)] {
        let mut settings = settings();
        settings.data.log_target = log;
        let snapshot = trained(positive(sign), settings);
        let (results, run) = (snapshot.results.as_ref().unwrap(), snapshot.run.as_ref().unwrap());
        let predictions = Predictions::of(&run.model, None, &positive(sign)).unwrap();
        let ends: Vec<[f64; 2]> = (0..predictions.rows()).filter_map(|row| predictions.interval(row)).collect();
        assert!(
            ends.len() == 600 && ends.iter().all(|[low, high]| low <= high && sign * low >= 0.0 && sign * high >= 0.0)
        );
        assert!(ends.iter().flatten().any(|end| *end == 0.0), "{sign}, {log}: none is cut off");
        let measured = results.intervals.as_ref().unwrap();
        let words = measured.in_words(|value| format!("{value:.3}"));
        assert_eq!(measured.near_zero.is_some(), log);
        if let Some([small, low, high]) = measured.near_zero {
            let factor = measured.half_width.unwrap().exp();
            let wanted = [((1.0 + small) / factor - 1.0).max(0.0), (1.0 + small) * factor - 1.0];
            if sign > 0.0 {
                assert!((low - wanted[0]).abs() < 1e-6 && (high - wanted[1]).abs() < 1e-6, "{measured:?}");
            }
            let part = format!(
                "if 1 is added to both: from {low:.3} to {high:.3} for a prediction of {small:.3}; of the test part"
            );
            assert!(words.contains(&part), "{words}");
        }
    }
}

#[test]
fn few_validation_rows_are_said_in_place_of_an_interval() {
    let mut settings = settings();
    settings.split.order = SplitOrder::Time;
    let snapshot = trained(small_table(40, 1), settings);
    let (results, model) = (snapshot.results.as_ref().unwrap(), &snapshot.run.as_ref().unwrap().model);
    assert_eq!(
        results.intervals.as_ref().unwrap().in_words(|value| value.to_string()),
        "No 90 % intervals: they need at least 9 validation rows, and there were 6 rows."
    );
    let predictions = Predictions::of(model, None, &small_table(3, 1)).unwrap();
    assert!(predictions.why_no_intervals.as_ref().is_some_and(|reason| reason.contains("at least 9 validation rows")));
    assert!(!csv_of(&predictions, &small_table(3, 1)).contains("lower"));
    let predictions = Predictions::with_intervals(model, None, &small_table(3, 1), 80).unwrap();
    assert!(
        csv_of(&predictions, &small_table(3, 1)).starts_with("row,predicted target,lower 80 %,upper 80 %,target\n1,")
    );
}

#[test]
fn predictions_outside_the_range_have_wider_intervals() {
    let model = trained(noisy_table(600, 2), settings()).run.as_ref().unwrap().model.clone();
    let rows = [0.5, 1.0, 3.0, -5.0];
    let columns = vec![
        Column::of_numbers("x", rows.to_vec()),
        Column::of_numbers("y", vec![0.0; 4]),
        Column::of_texts("direction", &["up"; 4]),
    ];
    let table = Table::new("new.csv", columns);
    let predictions = Predictions::of(&model, None, &table).unwrap();
    let width = |row: usize| predictions.interval(row).map(|[low, high]| high - low).unwrap();
    let factors = [1, 2, 3].map(|row| width(row) / width(0));
    // The range is about −1 to 1.
    assert!((factors[0] - 1.0).abs() < 0.01 && (factors[1] - 2.0).abs() < 0.02, "{factors:?}");
    assert!((factors[2] - 3.0).abs() < 0.02, "{factors:?}");
    assert!(predictions.notes()[0].ends_with(": their intervals are wider, but without guarantee"));
    for row in 0..rows.len() {
        let interval = predictions.interval(row);
        let (predicted, alone) = model.predict_row_within(90, |name| model.cell(&table, name, row));
        assert_eq!((Some(predicted), alone), (predictions.predicted(row), interval));
        assert!(interval.is_some_and(|[low, high]| low < predicted && predicted < high));
    }
}
