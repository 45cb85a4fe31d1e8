//! Compares half widths with a slow, simple version, and checks the ends of intervals.

use proptest::prelude::*;
use regression_studio::intervals::{Intervals, PERCENTS, min_rows, rank};
use regression_studio::prepared::{Input, Scale};

/// The smallest score q for which at least (n + 1)·p scores are ≤ q, among the n scores and the new
/// row's.
fn slow_half_width(scores: &[f64], percent: u8) -> Option<f64> {
    let needed = |count: usize| 100 * count >= usize::from(percent) * (scores.len() + 1);
    let at_most = |q: f64| scores.iter().filter(|score| **score <= q).count();
    scores.iter().copied().filter(|q| needed(at_most(*q))).min_by(f64::total_cmp)
}

proptest! {
    #[test]
    fn half_widths_are_the_smallest_scores_that_enough_rows_do_not_exceed(
        residuals in prop::collection::vec((-30_i32..30).prop_map(|value| f64::from(value) / 4.0), 0..250),
        spread in 1_u32..9,
    ) {
        let spreads: Vec<f64> = (0..residuals.len()).map(|row| f64::from(1 + (row as u32 * spread) % 5)).collect();
        let plain: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
        let divided: Vec<f64> = plain.iter().zip(&spreads).map(|(score, spread)| score / spread).collect();
        let intervals = Intervals::calibrate(&residuals, None, None);
        let normalised = Intervals::calibrate(&residuals, Some(&spreads), None);
        for percent in PERCENTS {
            prop_assert_eq!(intervals.half_width(percent), slow_half_width(&plain, percent));
            prop_assert_eq!(normalised.half_width(percent), slow_half_width(&divided, percent));
            prop_assert_eq!(intervals.half_width(percent).is_some(), residuals.len() >= min_rows(percent));
            // At least that share of the calibration rows themselves is covered.
            for (of, spreads) in [(&intervals, None), (&normalised, Some(&spreads[..]))] {
                if let Some(coverage) = of.coverage(percent, &residuals, spreads, None) {
                    prop_assert!(coverage >= f64::from(percent) / 100.0);
                }
            }
        }
        prop_assert!(intervals.validate().is_ok() && normalised.validate().is_ok());
    }

    /// Repeated rows carry no information about new ones. Groups with several scores count once
    /// each.
    #[test]
    fn groups_count_once_each(
        residuals in prop::collection::vec((-30_i32..30).prop_map(|value| f64::from(value) / 4.0), 0..60),
        times in 1_u32..5,
    ) {
        let repeated: Vec<f64> = residuals.iter().flat_map(|&residual| vec![residual; times as usize]).collect();
        let groups: Vec<u32> = (0..residuals.len() as u32).flat_map(|group| vec![group; times as usize]).collect();
        let (alone, grouped) =
            (Intervals::calibrate(&residuals, None, None), Intervals::calibrate(&repeated, None, Some(&groups)));
        prop_assert_eq!(&grouped.half_widths, &alone.half_widths);
        prop_assert_eq!((grouped.rows, grouped.groups), (repeated.len(), Some(residuals.len())));
        // Other residuals, in groups of two: the weights of a pair add up to 1.
        let pairs: Vec<u32> = (0..residuals.len() as u32).map(|row| row / 2).collect();
        let of_pairs = Intervals::calibrate(&residuals, None, Some(&pairs));
        let count = residuals.len().div_ceil(2);
        for percent in PERCENTS {
            let needed = f64::from(percent) / 100.0 * (count as f64 + 1.0);
            let share = |q: f64| -> f64 {
                let share = |(row, residual): (usize, &f64)| {
                    let is_alone = row + 1 == residuals.len() && row.is_multiple_of(2);
                    if residual.abs() <= q { if is_alone { 1.0 } else { 0.5 } } else { 0.0 }
                };
                residuals.iter().enumerate().map(share).sum()
            };
            let scores = residuals.iter().map(|residual| residual.abs());
            let slow = scores.filter(|&q| share(q) + 1e-9 >= needed.ceil()).min_by(f64::total_cmp);
            prop_assert_eq!(of_pairs.half_width(percent), slow);
            let of_groups = grouped.coverage(percent, &repeated, None, Some(&groups));
            let of_rows = alone.coverage(percent, &residuals, None, None);
            prop_assert_eq!(of_groups.is_some(), of_rows.is_some());
            // Shares such as 1/3 do not add up to exactly 1.
            let is_close = of_groups.zip(of_rows).is_none_or(|(of_groups, of_rows)| (of_groups - of_rows).abs() < 1e-12);
            prop_assert!(is_close);
        }
    }
}

#[test]
fn too_few_groups_give_a_reason() {
    let groups: Vec<u32> = (0..40).map(|row| row / 5).collect();
    let intervals = Intervals::calibrate(&[0.5; 40], None, Some(&groups));
    assert_eq!(
        intervals.why_none(90).unwrap(),
        "no 90 % intervals: they need at least 9 groups of rows, and there were 40 rows in 8 groups"
    );
}

#[test]
fn the_rank_is_that_of_the_papers() {
    assert_eq!([rank(9, 90), rank(99, 90), rank(1000, 95), rank(8, 90)], [Some(9), Some(90), Some(951), None]);
    assert_eq!(PERCENTS.map(min_rows), [1, 4, 9, 19, 99]);
}

#[test]
fn too_few_rows_give_no_interval_but_a_reason() {
    let intervals = Intervals::calibrate(&[0.5; 8], None, None);
    assert_eq!(intervals.interval(90, 0.0, None, 1.0), None);
    assert_eq!(
        intervals.why_none(90).unwrap(),
        "no 90 % intervals: they need at least 9 validation rows, and there were 8 rows"
    );
    assert_eq!((intervals.interval(80, 1.0, None, 1.0), intervals.why_none(80)), (Some([0.5, 1.5]), None));
    // A residual that is NaN counts as infinitely large.
    let broken = Intervals::calibrate(&[vec![0.5; 8], vec![f64::NAN]].concat(), None, None);
    assert_eq!((broken.half_width(80), broken.half_width(90)), (Some(0.5), None));
}

#[test]
fn normalised_intervals_are_multiples_of_the_spread() {
    let spreads = [1.0, 2.0, 4.0, 8.0, 1.0, 2.0, 4.0, 8.0, 16.0];
    let residuals = spreads.map(|spread| 1.5 * spread);
    let intervals = Intervals::calibrate(&residuals, Some(&spreads), None);
    assert_eq!(intervals.interval(90, 10.0, Some(2.0), 1.0), Some([7.0, 13.0]));
    assert_eq!(intervals.interval(90, 10.0, Some(2.0), 3.0), Some([1.0, 19.0]));
    assert_eq!((intervals.interval(90, 10.0, None, 1.0), intervals.coverage(90, &residuals, None, None)), (None, None));
    assert_eq!(intervals.coverage(90, &[1.5, 3.5], Some(&[1.0, 2.0]), None), Some(0.5));
}

#[test]
fn members_that_differ_have_wider_intervals() {
    let deviations = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let residuals = deviations.map(|deviation| 0.5 * (deviation + 4.0));
    let intervals = Intervals::of_members(&residuals, Some(&deviations), None);
    assert_eq!((intervals.added_spread, intervals.half_width(90)), (4.0, Some(0.5)));
    let of = |deviation: f64| intervals.interval(90, 0.0, intervals.spread(deviation), 1.0).unwrap();
    assert_eq!([of(0.0), of(4.0)], [[-2.0, 2.0], [-4.0, 4.0]]);
    // Without members, or if they always agree, all intervals have the same width.
    let plain = Intervals::calibrate(&residuals, None, None);
    assert_eq!(Intervals::of_members(&residuals, None, None), plain);
    assert_eq!(Intervals::of_members(&residuals, Some(&[0.0; 9]), None), plain);
    assert_eq!((plain.spread(2.0), Intervals::of_members(&[], Some(&[]), None).rows), (None, 0));
}

#[test]
fn the_excess_is_the_distance_from_the_range_in_its_widths() {
    let number = |log: bool, range: [f64; 2]| Input::Number {
        column: "x".to_owned(),
        scale: Scale { log, mean: 3.0, deviation: 2.0 },
        fill: None,
        range: Some(range),
        is_date: None,
    };
    let excess = |value: f64| number(false, [10.0, 30.0]).excess(value);
    assert_eq!([10.0, 21.0, 30.0, 40.0, 0.0, 90.0, f64::NAN].map(excess), [0.0, 0.0, 0.0, 0.5, 0.5, 3.0, 0.0]);
    // ln(1 + x) goes from 0 to 2 in the range, and is 3 outside.
    let [low, high, value] = [0.0, 2.0, 3.0].map(f64::exp_m1);
    assert!((number(true, [low, high]).excess(value) - 0.5).abs() < 1e-12);
}

#[test]
fn outside_the_range_agreeing_members_make_no_narrow_interval() {
    let (residuals, deviations): (Vec<f64>, Vec<f64>) =
        (0..100).map(|row| (f64::from(row) / 50.0 - 1.0, 0.1 + f64::from(row % 10) / 50.0)).unzip();
    let intervals = Intervals::of_members(&residuals, Some(&deviations), None);
    let mean = deviations.iter().sum::<f64>() / 100.0;
    let width = |deviation: f64, widening: f64| {
        let [low, high] = intervals.interval(90, 0.0, intervals.spread(deviation), widening).unwrap();
        high - low
    };
    assert!(width(0.0, 1.0) < width(mean, 1.0));
    assert!((width(0.0, 1.5) - 1.5 * width(mean, 1.0)).abs() < 1e-12, "as of members that differ as on average");
    assert!((width(3.0 * mean, 1.5) - 1.5 * width(3.0 * mean, 1.0)).abs() < 1e-12, "and wider where they differ more");
}
