//! Summaries of columns.

use crate::{Categories, Column};

/// Number of bars of a histogram.
pub const BARS: usize = 16;
/// Maximum number of values sorted for the median and the histogram.
const MAX_SORTED: usize = 10_000;

/// A summary of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Statistics {
    /// A numeric column with at least one number.
    Numbers {
        /// The smallest number.
        min: f64,
        /// The median of up to 10,000 evenly spaced rows.
        median: f64,
        /// The mean.
        mean: f64,
        /// The largest number.
        max: f64,
        /// Shares of these rows between their 1st and 99th percentile. The first and the last bar
        /// include the rest.
        histogram: [f32; BARS],
    },
    /// A text column with at least one text.
    Texts {
        /// The most frequent text.
        usual: String,
        /// Shares of the most frequent texts, largest first.
        shares: Vec<f32>,
    },
    /// Every cell is missing.
    Empty,
}

impl Statistics {
    /// The summary of a column.
    pub fn of(column: &Column) -> Self {
        match (column.numbers(), column.categories()) {
            (Some(numbers), _) => of_numbers(numbers),
            (None, Some(categories)) => of_texts(categories),
            (None, None) => Self::Empty,
        }
    }

    /// The bars of a histogram, 0 … 1 each.
    pub fn bars(&self) -> &[f32] {
        match self {
            Self::Numbers { histogram, .. } => histogram,
            Self::Texts { shares, .. } => shares,
            Self::Empty => &[],
        }
    }
}

/// Maximum number of rows for a rank correlation.
const MAX_RANKED: usize = 2000;

/// Spearman's rank correlation of two columns, −1 … 1: the correlation of their ranks, which a few
/// large values do not dominate. Computed from up to 2000 evenly spaced rows. `None` if fewer than
/// three rows have both numbers, or if a column is constant.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let both = || a.iter().zip(b).filter(|(a, b)| a.is_finite() && b.is_finite());
    let every = both().count().div_ceil(MAX_RANKED).max(1);
    let (a, b): (Vec<f64>, Vec<f64>) = both().step_by(every).unzip();
    let (a, b, mean) = (ranks(&a), ranks(&b), (a.len() as f64 - 1.0) / 2.0);
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    let correlation = product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt();
    Some(correlation).filter(|correlation| a.len() >= 3 && correlation.is_finite())
}

/// The rank of each value, counted from 0. Equal values have the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        equal.iter().for_each(|&index| ranks[index] = first as f64 + (equal.len() as f64 - 1.0) / 2.0);
        first += equal.len();
    }
    ranks
}

fn of_numbers(numbers: &[f64]) -> Statistics {
    let known = || numbers.iter().copied().filter(|number| number.is_finite());
    let (mut count, mut sum, mut min, mut max) = (0_usize, 0.0, f64::INFINITY, f64::NEG_INFINITY);
    for number in known() {
        (count, sum, min, max) = (count + 1, sum + number, min.min(number), max.max(number));
    }
    if count == 0 {
        return Statistics::Empty;
    }
    let mut sorted: Vec<f64> = known().step_by(count.div_ceil(MAX_SORTED)).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let (low, high) = (at(0.01), at(0.99));
    let mut histogram = [0.0; BARS];
    for number in &sorted {
        let share = if high > low { (number - low) / (high - low) } else { 0.5 };
        let bar = (share * BARS as f64).clamp(0.0, (BARS - 1) as f64) as usize;
        histogram[bar] += 1.0 / sorted.len() as f32;
    }
    Statistics::Numbers { min, median: at(0.5), mean: sum / count as f64, max, histogram }
}

fn of_texts(categories: Categories) -> Statistics {
    let mut counts = vec![0_usize; categories.names.len()];
    for &index in categories.indices {
        if let Some(count) = counts.get_mut(index as usize) {
            *count += 1;
        }
    }
    let known: usize = counts.iter().sum();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(counts[index]));
    match order.first().and_then(|&index| categories.names.get(index)) {
        Some(usual) if known > 0 => {
            let shares = order.iter().take(BARS).map(|&index| counts[index] as f32 / known as f32).collect();
            Statistics::Texts { usual: usual.to_owned(), shares }
        }
        _ => Statistics::Empty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_range_median_mean_and_shares() {
        let mut values: Vec<f64> = (0..=100).map(f64::from).collect();
        values.extend([f64::NAN, 1e9]);
        let Statistics::Numbers { min, median, mean, max, histogram } =
            Statistics::of(&Column::of_numbers("x", values))
        else {
            panic!("there are numbers")
        };
        assert_eq!((min, max), (0.0, 1e9));
        assert!((median - 51.0).abs() <= 1.0 && (mean - (5050.0 + 1e9) / 102.0).abs() < 1e-6);
        assert!((histogram.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        // The outlier is in the last bar and does not compress the others.
        assert!(histogram.iter().all(|&share| (0.04..0.09).contains(&share)), "{histogram:?}");
    }

    #[test]
    fn the_rank_correlation_is_that_of_the_ranks() {
        let cubes: Vec<f64> = (0..5000).map(|x| f64::from(x).powi(3)).collect();
        let falling: Vec<f64> = (0..5000).map(|x| -f64::from(x)).collect();
        assert!((rank_correlation(&cubes, &cubes).unwrap() - 1.0).abs() < 1e-12);
        assert!((rank_correlation(&cubes, &falling).unwrap() + 1.0).abs() < 1e-12);
        // Ranks 0, 1.5, 1.5, 3 and 1, 0, 2, 3: the products of their deviations add to 3, 4.5 and 5.
        let (a, b) = ([1.0, 2.0, 2.0, 9.0, f64::NAN], [5.0, 1.0, 7.0, 8.0, 3.0]);
        assert!((rank_correlation(&a, &b).unwrap() - 3.0 / 22.5_f64.sqrt()).abs() < 1e-12);
        for (a, b) in [(&a[..], &[3.0; 5][..]), (&a[..2], &b[..2]), (&[][..], &[][..]), (&a[4..], &b[4..])] {
            assert_eq!(rank_correlation(a, b), None);
        }
    }

    #[test]
    fn texts_have_shares_from_the_most_frequent_on() {
        let column = Column::of_texts("x", &["b", "a", "", "b", "b"]);
        let wanted = Statistics::Texts { usual: "b".to_owned(), shares: vec![0.75, 0.25] };
        assert_eq!(Statistics::of(&column), wanted);
        assert_eq!(wanted.bars(), [0.75, 0.25]);
    }

    #[test]
    fn constant_and_empty_columns_have_statistics() {
        let constant = Statistics::of(&Column::of_numbers("x", vec![3.0; 5]));
        assert!(matches!(constant, Statistics::Numbers { min: 3.0, median: 3.0, mean: 3.0, max: 3.0, .. }));
        for column in [Column::of_numbers("x", vec![f64::NAN; 3]), Column::of_texts("x", &["", ""])] {
            assert_eq!((Statistics::of(&column), Statistics::of(&column).bars().len()), (Statistics::Empty, 0));
        }
    }
}
