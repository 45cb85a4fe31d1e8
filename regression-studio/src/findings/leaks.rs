//! Features that determine the target.

use std::collections::HashMap;

use ndarray::Array2;
use table_network::solve_semidefinite;

use super::{Finding, MIN_ROWS, Sample, listed};
use crate::Settings;
use crate::table::Column;

/// Maximum unexplained fraction 1 − R² of the target's variance if a line or a weighted sum
/// determines it. Rounding to a hundredth of the range leaves less.
const LINEAR: f64 = 1e-4;
/// The same for a sum of products. It is smaller because there are many more candidates.
const PRODUCTS: f64 = 1e-6;
/// The same for the logarithms of a product. Products of quantities and prices that are merely
/// similar leave 1e-6.
const LOGARITHMS: f64 = 1e-7;
/// Maximum number of columns for a weighted sum, and for a sum of products.
const MAX_SUMMANDS: usize = 200;
const MAX_FACTORS: usize = 10;
/// Maximum number of columns named for a sum.
const MAX_NAMED: usize = 12;
/// Minimum number of different values for a monotonic relation, of both the feature and the target.
const MIN_STEPS: usize = 30;
/// Maximum probability, as its logarithm, that each value of a feature has a single target value by
/// chance.
const CHANCE: f64 = -25.0;
/// Maximum fraction of rows in which a column of a sum may be missing.
const MAX_MISSING: f64 = 0.1;

/// Finds features that determine the target on their own. If there are none, looks for features
/// that do so together.
pub(super) fn find(sample: &Sample, features: &[&Column], target: &Column, settings: &Settings) -> Vec<Finding> {
    if sample.rows.len() < MIN_ROWS || sample.target.iter().all(|value| *value == sample.target[0]) {
        return Vec::new();
    }
    let goal = target.name();
    let of_feature = |column: &&Column| {
        let (name, how) = (column.name(), alone(sample, column)?);
        let text = format!("{name} determines {goal} ({how}): is it known when you predict?");
        Some(Finding::of_feature(text, name, settings))
    };
    let alone: Vec<Finding> = features.iter().filter_map(of_feature).collect();
    if !alone.is_empty() {
        return alone;
    }
    let found = together(sample, features);
    let text = |(names, how): (Vec<&str>, String)| {
        format!("{} determine {goal} ({how}): are they known when you predict?", listed(&names))
    };
    found.map(text).map(Finding::new).into_iter().collect()
}

/// How a column alone determines the target.
fn alone(sample: &Sample, column: &Column) -> Option<String> {
    if let Some(numbers) = sample.numbers(column) {
        let pairs: Vec<(f64, f64)> =
            numbers.into_iter().zip(sample.target.iter().copied()).filter(|(x, _)| x.is_finite()).collect();
        if pairs.len() < MIN_ROWS {
            return None;
        }
        if pairs.iter().all(|(x, y)| x == y) {
            return Some("they are equal".to_owned());
        }
        if let Some(unexplained) = unexplained_by_line(&pairs).filter(|share| *share <= LINEAR) {
            return Some(format!("R² of a line {:.4}", 1.0 - unexplained));
        }
        if let Some(direction) = direction(pairs) {
            return Some(format!("it {direction} with every step of the other"));
        }
    }
    has_one_value_each(sample, column).then(|| "rows with the same value have the same target".to_owned())
}

/// 1 − R² of least squares with one variable; `None` if either is constant.
fn unexplained_by_line(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let product = |a: fn(&(f64, f64), f64, f64) -> f64| pairs.iter().map(|pair| a(pair, x_mean, y_mean)).sum::<f64>();
    let (xx, yy) = (product(|pair, x, _| (pair.0 - x).powi(2)), product(|pair, _, y| (pair.1 - y).powi(2)));
    let xy = product(|pair, x, y| (pair.0 - x) * (pair.1 - y));
    let unexplained = 1.0 - xy / xx * (xy / yy);
    Some(unexplained.max(0.0)).filter(|_| xx > 0.0 && yy > 0.0 && unexplained.is_finite())
}

/// Whether y always rises or always falls with x.
fn direction(mut pairs: Vec<(f64, f64)>) -> Option<&'static str> {
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let steps: Vec<(f64, f64)> = pairs.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1)).collect();
    let is_function = steps.iter().all(|&(x, y)| x != 0.0 || y == 0.0);
    let changes = |step: fn(&(f64, f64)) -> f64| steps.iter().filter(|pair| step(pair) != 0.0).count();
    if !is_function || changes(|step| step.0) < MIN_STEPS || changes(|step| step.1) < MIN_STEPS {
        return None;
    }
    match (steps.iter().all(|step| step.1 >= 0.0), steps.iter().all(|step| step.1 <= 0.0)) {
        (true, false) => Some("rises"),
        (false, true) => Some("falls"),
        _ => None,
    }
}

/// Whether rows with the same value in a column always have the same target, if that is very
/// unlikely by chance.
fn has_one_value_each(sample: &Sample, column: &Column) -> bool {
    let key = |row: u32| match (column.numbers(), column.categories()) {
        (Some(numbers), _) => Some(numbers[row as usize] + 0.0).filter(|x| x.is_finite()).map(f64::to_bits),
        (None, Some(categories)) => Some(u64::from(categories.indices[row as usize])),
        (None, None) => None,
    };
    let (mut first_of, mut counts, mut repeated, mut rows) = (HashMap::new(), HashMap::new(), 0_usize, 0_usize);
    for (&row, &target) in sample.rows.iter().zip(&sample.target) {
        let Some(key) = key(row) else { continue };
        rows += 1;
        *counts.entry(target.to_bits()).or_insert(0_usize) += 1;
        match first_of.entry(key) {
            std::collections::hash_map::Entry::Occupied(first) if *first.get() != target => return false,
            std::collections::hash_map::Entry::Occupied(_) => repeated += 1,
            std::collections::hash_map::Entry::Vacant(place) => _ = place.insert(target),
        }
    }
    // The probability that two rows have the same target.
    let equal: f64 = counts.values().map(|&count| (count as f64 / rows.max(1) as f64).powi(2)).sum();
    repeated as f64 * equal.ln() < CHANCE
}

/// The numeric features that determine the target as a weighted sum, a product, or a sum of products.
fn together<'a>(sample: &Sample, features: &[&'a Column]) -> Option<(Vec<&'a str>, String)> {
    let rows = sample.rows.len();
    let is_present = |(_, numbers): &(&str, Vec<f64>)| {
        numbers.iter().filter(|number| number.is_nan()).count() as f64 <= MAX_MISSING * rows as f64
    };
    let columns = features.iter().filter_map(|column| Some((column.name(), sample.numbers(column)?)));
    let columns: Vec<(&str, Vec<f64>)> = columns.filter(is_present).collect();
    if columns.len() < 2 || columns.len() > MAX_SUMMANDS {
        return None;
    }
    let is_complete = |&row: &usize| columns.iter().all(|(_, numbers)| numbers[row].is_finite());
    let complete: Vec<usize> = (0..rows).filter(is_complete).collect();
    let of_complete = |values: &[f64]| complete.iter().map(|&row| values[row]).collect::<Vec<f64>>();
    let target = of_complete(&sample.target);
    let (names, columns): (Vec<&str>, Vec<Vec<f64>>) =
        columns.into_iter().map(|(name, numbers)| (name, of_complete(&numbers))).unzip();
    let named = |indices: &[usize]| indices.iter().map(|&index| names[index]).collect::<Vec<_>>();
    if let Some((of_sum, unexplained)) = weighted_sum(&columns, &target, LINEAR) {
        return Some((named(&of_sum), format!("R² of a weighted sum {:.4}", 1.0 - unexplained)));
    }
    let positive: Vec<usize> =
        (0..columns.len()).filter(|&index| columns[index].iter().all(|value| *value > 0.0)).collect();
    if positive.len() > 1 && target.iter().all(|value| *value > 0.0) {
        let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        let of_columns: Vec<Vec<f64>> = positive.iter().map(|&index| logarithms(&columns[index])).collect();
        if let Some((factors, unexplained)) = weighted_sum(&of_columns, &logarithms(&target), LOGARITHMS) {
            let factors: Vec<usize> = factors.into_iter().map(|factor| positive[factor]).collect();
            return Some((named(&factors), format!("R² of a product or ratio {:.4}", 1.0 - unexplained)));
        }
    }
    if columns.len() > MAX_FACTORS {
        return None;
    }
    let mut of_term: Vec<Vec<usize>> = (0..columns.len()).map(|index| vec![index]).collect();
    of_term.extend((0..columns.len()).flat_map(|a| (a..columns.len()).map(move |b| vec![a, b])));
    let product = |factors: &Vec<usize>| -> Vec<f64> {
        (0..target.len()).map(|row| factors.iter().map(|&factor| columns[factor][row]).product()).collect()
    };
    let terms: Vec<Vec<f64>> = of_term.iter().map(product).collect();
    let (found, unexplained) = weighted_sum(&terms, &target, PRODUCTS)?;
    let mut factors: Vec<usize> = found.into_iter().flat_map(|term| of_term[term].iter().copied()).collect();
    factors.sort_unstable();
    factors.dedup();
    Some((named(&factors), format!("R² of a sum of products {:.4}", 1.0 - unexplained)))
}

/// The columns with a weighted sum equal to the target, and the unexplained fraction of its
/// variance, which is at most `tolerance`. `None` if there are none, or too few rows to tell.
fn weighted_sum(columns: &[Vec<f64>], target: &[f64], tolerance: f64) -> Option<(Vec<usize>, f64)> {
    let columns: Vec<Option<Vec<f64>>> = columns.iter().map(|column| standardised(column)).collect();
    let varying: Vec<usize> = (0..columns.len()).filter(|&index| columns[index].is_some()).collect();
    let (target, size) = (standardised(target)?, varying.len());
    if size < 2 || target.len() < MIN_ROWS.max(5 * (size + 1)) {
        return None;
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let column = |index: usize| columns[varying[index]].as_deref().unwrap_or_default();
    let mut products = Array2::zeros((size, size));
    for a in 0..size {
        for b in 0..=a {
            products[[a, b]] = dot(column(a), column(b));
            products[[b, a]] = products[[a, b]];
        }
    }
    let right: Vec<f64> = (0..size).map(|index| dot(column(index), &target)).collect();
    // The weights of some columns, and the fraction of the variance that their sum leaves
    // unexplained.
    let fit = |chosen: &[usize]| -> (Vec<f64>, f64) {
        let of_chosen = Array2::from_shape_fn((chosen.len(), chosen.len()), |(a, b)| products[[chosen[a], chosen[b]]]);
        let weights = solve_semidefinite(of_chosen, chosen.iter().map(|&index| right[index]).collect());
        // Compute the residuals themselves: differences of sums of squares would cancel.
        let residual = |row: usize| {
            let sum: f64 = chosen.iter().zip(&weights).map(|(&index, weight)| weight * column(index)[row]).sum();
            (target[row] - sum).powi(2)
        };
        let left = (0..target.len()).map(residual).sum::<f64>() / target.len() as f64;
        (weights, left)
    };
    let all: Vec<usize> = (0..size).collect();
    let (_, left) = fit(&all);
    if left.is_nan() || left > tolerance {
        return None;
    }
    // Forward selection by correlation with the residuals, then removal of columns that later ones
    // replace.
    let mut chosen: Vec<usize> = Vec::new();
    let mut of_chosen = 1.0;
    while of_chosen > tolerance && chosen.len() < MAX_NAMED {
        let (weights, _) = fit(&chosen);
        let correlation = |index: usize| {
            let known: f64 =
                chosen.iter().zip(&weights).map(|(&other, weight)| products[[index, other]] * weight).sum();
            (right[index] - known).abs()
        };
        let best = all.iter().copied().filter(|index| !chosen.contains(index));
        let Some(best) = best.max_by(|&a, &b| correlation(a).total_cmp(&correlation(b))) else { break };
        chosen.push(best);
        of_chosen = fit(&chosen).1;
    }
    if of_chosen > tolerance {
        return Some((varying, left));
    }
    for index in chosen.clone() {
        let rest: Vec<usize> = chosen.iter().copied().filter(|other| *other != index).collect();
        let without = fit(&rest).1;
        if without <= tolerance {
            (chosen, of_chosen) = (rest, without);
        }
    }
    chosen.sort_unstable();
    Some((chosen.into_iter().map(|index| varying[index]).collect(), of_chosen))
}

/// Values with zero mean and unit variance; `None` if they are constant or their variance is not a number.
fn standardised(values: &[f64]) -> Option<Vec<f64>> {
    let count = values.len() as f64;
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let mean = values.iter().map(|value| value / largest).sum::<f64>() / count;
    let centred: Vec<f64> = values.iter().map(|value| value / largest - mean).collect();
    let deviation = (centred.iter().map(|value| value * value).sum::<f64>() / count).sqrt();
    (deviation > 1e-12).then(|| centred.into_iter().map(|value| value / deviation).collect())
}
