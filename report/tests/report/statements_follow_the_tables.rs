//! For any figures, no sentence contradicts its table.

use proptest::prelude::*;
use report::Times;
use report::figures::*;
use report::statements::{self, Comparison, MIN_DIFFERENCE, Statement, Verdict};
use report::tables;
use report::timed::Table;

use super::figures::{gpu_run, without_gpu};

/// Times over nine powers of ten, often close together, with and without quartiles.
fn times() -> impl Strategy<Value = Times> {
    let median = prop_oneof![Just(1e-3), 0.9e-3..1.1e-3, (-8.0_f64..1.0).prop_map(|power| 10.0_f64.powf(power))];
    (median, 0.0..0.5_f64, 0.0..0.5_f64, any::<bool>(), 1_usize..200).prop_map(
        |(median, below, above, known, repeats)| {
            let quartiles = known.then_some([median * (1.0 - below), median * (1.0 + above)]);
            Times { min: median * (1.0 - below), median, quartiles, repeats }
        },
    )
}

fn ladder() -> impl Strategy<Value = Vec<OnThreads>> {
    prop::collection::vec(times(), 0..5).prop_map(|times| {
        let on = |(power, times)| OnThreads { threads: 1_usize << power, times };
        times.into_iter().enumerate().map(on).collect()
    })
}

prop_compose! {
    fn processor()(
        ladders in [ladder(), ladder(), ladder(), ladder()],
        single in [times(), times(), times()],
        roofs in prop::collection::vec((times(), times()), 0..5),
        peers in prop::collection::vec(times(), 5),
        cores in 1_usize..20,
    ) -> Figures {
        let mut figures = without_gpu();
        let [maximum, product, passes, fused] = ladders;
        [figures.maximum.cpu, figures.product.trivial, figures.activation.cpu] = single;
        (figures.maximum.rayon, figures.product.rayon) = (maximum, product);
        (figures.activation.three_passes, figures.activation.fused) = (passes, fused);
        let to_roofs = |(power, (reading, arithmetic))| Roofs { threads: 1_usize << power, reading, bytes: 8e6, arithmetic, operations: 1e8 };
        figures.roofs = roofs.into_iter().enumerate().map(to_roofs).collect();
        for (peer, times) in figures.peers.times.iter_mut().zip(peers) {
            peer.times = times;
        }
        figures.machine.cores = cores;
        figures
    }
}

prop_compose! {
    fn figures()(
        figures in processor(),
        gpu_times in prop::collection::vec(times(), 11),
        cpu_times in [times(), times(), times(), times(), times()],
        kind in 0..3,
    ) -> Figures {
        let mut run = gpu_run();
        let mut next = gpu_times.into_iter();
        let mut set = |times: &mut Times| if let Some(other) = next.next() { *times = other };
        if let Some(maximum) = &mut run.maximum {
            set(&mut maximum.kernel);
            set(&mut maximum.with_copies);
            (maximum.cpu, maximum.rayon.times) = (cpu_times[0], cpu_times[1]);
        }
        if let Some(product) = &mut run.product {
            product.rungs.iter_mut().for_each(|rung| set(&mut rung.times));
            set(&mut product.with_copies);
            (product.trivial, product.rayon.times) = (cpu_times[2], cpu_times[3]);
        }
        if let Some(activation) = &mut run.activation {
            set(&mut activation.three_kernels);
            set(&mut activation.fused_kernel);
            set(&mut activation.fused_with_copies);
            activation.rayon_fused.times = cpu_times[4];
        }
        let gpu = match kind {
            0 => Gpu::Missing("none".to_owned()),
            1 => Gpu::Measured(run),
            _ => Gpu::Recorded { file: "x.json".to_owned(), date: "2026-01-01".to_owned(), run },
        };
        Figures { gpu, ..figures }
    }
}

/// The median in the table row `label`, as text and in seconds.
fn shown(figures: &Figures, table: Table, label: &str) -> (String, f64) {
    let rows = tables::times(figures, table).rows;
    let row =
        rows.iter().find(|row| row[0] == label).unwrap_or_else(|| panic!("{table:?} has no row {label}: {rows:?}"));
    let (number, unit) = row[2].split_once(' ').unwrap();
    let unit = match unit {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        _ => 1.0,
    };
    (row[2].clone(), number.parse::<f64>().unwrap() * unit)
}

fn follows_its_table(figures: &Figures, statement: &Statement, comparison: &Comparison) {
    let Comparison { table, subject, object, verdict } = comparison;
    let (shown_subject, a) = shown(figures, *table, subject);
    let (shown_object, b) = shown(figures, *table, object);
    let text = &statement.text;
    assert!(text.contains(&shown_subject) && text.contains(&shown_object), "{text} has other times than {table:?}");
    let named = format!("{object} at {shown_object}");
    let before = text.split(&named).next().unwrap();
    assert!(before.len() < text.len(), "{text} does not contain {named}");
    // Times are shown with four digits.
    let (faster, slower) = (a < b * (1.0 - MIN_DIFFERENCE / 2.0), b < a * (1.0 - MIN_DIFFERENCE / 2.0));
    match verdict {
        Verdict::Faster(factor) => {
            assert!(faster && before.ends_with("times as fast as "), "{text}: {a} and {b}");
            assert!((factor / (b / a) - 1.0).abs() < 1e-3, "{text}: {factor}");
        }
        Verdict::Slower(factor) => {
            assert!(slower && before.ends_with("times as long as "), "{text}: {a} and {b}");
            assert!((factor / (a / b) - 1.0).abs() < 1e-3, "{text}: {factor}");
        }
        Verdict::NoClearDifference => assert!(before.ends_with(", from "), "{text}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_sentence_contradicts_its_table(figures in figures()) {
        for (section, sentences) in statements::all(&figures) {
            assert!(!sentences.is_empty(), "{section:?} says nothing");
            for statement in sentences {
                for comparison in &statement.comparisons {
                    follows_its_table(&figures, &statement, comparison);
                }
                let text = &statement.text;
                assert!(!text.contains("NaN") && !text.contains("inf ") && text.ends_with('.'), "{text}");
                if statement.comparisons.is_empty() {
                    assert!(!text.contains("times as fast as max") && !text.contains("times as long as max"), "{text}");
                }
            }
        }
    }

    #[test]
    fn verdicts_are_antisymmetric(a in times(), b in times()) {
        let mirrored = match statements::compare(&b, &a) {
            Verdict::Faster(factor) => Verdict::Slower(factor),
            Verdict::Slower(factor) => Verdict::Faster(factor),
            Verdict::NoClearDifference => Verdict::NoClearDifference,
        };
        match (statements::compare(&a, &b), mirrored) {
            (Verdict::Faster(x), Verdict::Faster(y)) | (Verdict::Slower(x), Verdict::Slower(y)) => {
                prop_assert!((x / y - 1.0).abs() < 1e-9 && x > 1.0);
            }
            (one, other) => prop_assert_eq!(one, other),
        }
    }

    #[test]
    fn overlapping_times_never_have_a_clear_difference(a in times(), shift in 0.0..1.0_f64) {
        let [lower, upper] = a.interval();
        let median = lower + shift * (upper - lower);
        let b = Times { min: median, median, quartiles: None, repeats: 3 };
        prop_assert_eq!(statements::compare(&a, &b), Verdict::NoClearDifference);
    }
}
