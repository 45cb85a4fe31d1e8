//! Compares contributions with their definition, on functions with known contributions, and checks
//! them for a network.

use std::ops::Range;

use ndarray::{Array2, ArrayView1};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use regression_studio::Model;
use regression_studio::contributions::Contributions;

use crate::support::{small_settings, small_table, trained};

/// Features of one input each, and one of three inputs.
const FEATURES: [Range<usize>; 6] = [0..1, 1..2, 2..5, 5..6, 6..7, 7..8];
const INPUTS: usize = 8;

fn rows(count: usize, seed: u64) -> Array2<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(seed));
    Array2::from_shape_fn((count, INPUTS), |_| rng.random_range(-2.0..2.0))
}

/// Has products of two and of three features, thresholds, and an unused input. For functions with
/// terms of only two features, every antithetic pair of permutations would be exact.
fn wild(row: ArrayView1<f32>) -> f64 {
    let x = |index: usize| f64::from(row[index]);
    let pairs = 3.0 * x(0) * x(1) + (x(2) + x(3) - x(4)).max(0.0) * x(5) + x(6).sin();
    pairs + x(0) * x(5) * x(6) + 2.0 * (x(0) + x(1) + x(2) + x(5)).max(0.0) + 10.0
}

fn of_rows(function: impl Fn(ArrayView1<f32>) -> f64) -> impl Fn(&Array2<f32>) -> Vec<f64> {
    move |inputs| inputs.outer_iter().map(&function).collect()
}

/// The worth of a set of features: the mean prediction over the background, with these features
/// from `row`.
fn worth(predict: &dyn Fn(&Array2<f32>) -> Vec<f64>, set: usize, row: &[f32], background: &Array2<f32>) -> f64 {
    let mut mixed = background.clone();
    for (feature, inputs) in FEATURES.iter().enumerate().filter(|(feature, _)| set >> feature & 1 == 1) {
        assert!(feature < FEATURES.len());
        for input in inputs.clone() {
            mixed.column_mut(input).fill(row[input]);
        }
    }
    predict(&mixed).iter().sum::<f64>() / background.nrows() as f64
}

/// Shapley values by definition: over all sets S without the feature, Σ |S|!·(n − |S| − 1)!/n! ·
/// (worth(S ∪ feature) − worth(S)).
fn exact(predict: &dyn Fn(&Array2<f32>) -> Vec<f64>, row: &[f32], background: &Array2<f32>) -> Vec<f64> {
    let count = FEATURES.len();
    let worths: Vec<f64> = (0..1 << count).map(|set| worth(predict, set, row, background)).collect();
    let factorial = |n: usize| (1..=n).product::<usize>() as f64;
    let value = |feature: usize| {
        let without = (0..1_usize << count).filter(|set| set >> feature & 1 == 0);
        let term = |set: usize| {
            let size = set.count_ones() as usize;
            let weight = factorial(size) * factorial(count - size - 1) / factorial(count);
            weight * (worths[set | 1 << feature] - worths[set])
        };
        without.map(term).sum()
    };
    (0..count).map(value).collect()
}

fn assert_adds_up(of: &Contributions) {
    let sum: f64 = of.mean + of.of_features.iter().map(|of| of.value).sum::<f64>();
    let size = of.predicted.abs().max(of.mean.abs()).max(1.0);
    assert!((sum - of.predicted).abs() <= 1e-12 * size, "{sum} {}", of.predicted);
}

#[test]
fn they_are_the_shapley_values_up_to_their_standard_errors() {
    let predict = of_rows(wild);
    let (mut squares, mut count) = (0.0, 0.0);
    for seed in 0..8 {
        let (row, background) = (rows(1, 100 + seed), rows(30, seed));
        let row = row.as_slice().unwrap();
        let of = Contributions::estimate(&predict, &FEATURES, row, &background, seed);
        assert_adds_up(&of);
        assert_eq!(of.mean, predict(&background).iter().sum::<f64>() / 30.0);
        for (found, exact) in of.of_features.iter().zip(exact(&predict, row, &background)) {
            let error = (found.value - exact).abs();
            assert!(error <= 5.0 * found.standard_error + 1e-9, "{found:?} {exact}");
            if found.standard_error > 1e-9 {
                squares += (error / found.standard_error).powi(2);
                count += 1.0;
            }
        }
        assert!(of.of_features[5].value.abs() < 1e-12, "a feature that does nothing contributes nothing");
    }
    // Errors match the standard errors.
    let ratio = (squares / count).sqrt();
    assert!((0.6..1.5).contains(&ratio), "{ratio} over {count}");
}

#[test]
fn of_a_linear_function_they_are_the_weights_times_the_distance_from_the_mean() {
    let weights = [1.0, -2.0, 0.5, 3.0, -1.0, 0.0, 7.0, 0.25];
    let linear = |row: ArrayView1<f32>| row.iter().zip(weights).map(|(x, w)| f64::from(*x) * w).sum::<f64>();
    let (row, background) = (rows(1, 5), rows(100, 6));
    let of = Contributions::estimate(&of_rows(linear), &FEATURES, row.as_slice().unwrap(), &background, 0);
    assert_adds_up(&of);
    for (found, inputs) in of.of_features.iter().zip(FEATURES) {
        let of_input = |input: usize| {
            let mean = background.column(input).iter().map(|x| f64::from(*x)).sum::<f64>() / 100.0;
            weights[input] * (f64::from(row[[0, input]]) - mean)
        };
        let expected: f64 = inputs.map(of_input).sum();
        assert!((found.value - expected).abs() < 1e-12, "{found:?} {expected}");
        assert!(found.standard_error < 1e-12, "every permutation gives the same");
    }
}

#[test]
fn one_feature_and_equal_rows_are_no_special_cases() {
    let predict = of_rows(|row| f64::from(row[0]).powi(3));
    let background = Array2::from_shape_vec((2, 1), vec![1.0, 2.0]).unwrap();
    let of = Contributions::estimate(&predict, std::slice::from_ref(&(0..1)), &[3.0], &background, 0);
    assert_eq!((of.mean, of.predicted, of.of_features[0].value), (4.5, 27.0, 22.5));
    let row = rows(1, 1);
    let of = Contributions::estimate(&of_rows(wild), &FEATURES, row.as_slice().unwrap(), &row, 0);
    assert!(of.of_features.iter().all(|of| of.value == 0.0 && of.standard_error == 0.0));
}

/// Contributions to a network's prediction, in the target's unit or its logarithm's.
#[test]
fn of_a_network_they_add_up_to_the_prediction_and_repeat_to_the_bit() {
    for log in [false, true] {
        let mut settings = small_settings();
        settings.data.log_target = log;
        let table = small_table(400, 3);
        let model: Model = trained(table.clone(), settings).run.as_ref().unwrap().model.clone();
        for row in [0, 17, 399] {
            let inputs = model.inputs_of_row(|name| model.cell(&table, name, row));
            let of = model.contributions(&inputs).unwrap();
            assert_adds_up(&of);
            assert_eq!((of.of_features.len(), of.background_rows), (3, 100));
            let scale = model.transform.target_scale;
            assert_eq!(Some(scale.of_learned(of.predicted)), model.predict(&table).unwrap()[row]);
            assert_eq!(scale.log, log);
            assert_eq!(model.contributions(&inputs).unwrap(), of);
        }
    }
}
