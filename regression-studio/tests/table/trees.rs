//! Boosted trees as a baseline: what they learn, what they do not depend on, and when they are
//! rejected.

use ndarray::{Array1, Axis};
use regression_studio::prepared::{Prepared, prepare};
use regression_studio::results::metrics;
use regression_studio::table::{Column, Table};
use regression_studio::{Settings, trees};

use crate::support::{small_settings, small_table, trained};

/// A step over x, and a product of x and the direction. Trees learn them, but a linear function
/// does not.
fn steps(rows: usize, seed: u64) -> Table {
    let table = small_table(rows, seed);
    let (x, direction) = (table.column("x").unwrap(), table.column("direction").unwrap());
    let target = |row: usize| {
        let step = if x.number(row).unwrap() > 0.25 { 5.0 } else { -1.0 };
        if direction.text(row) == "up" { step } else { 2.0 }
    };
    let target = Column::of_numbers("target", (0..rows).map(target).collect());
    let columns = table.columns().iter().filter(|column| column.name() != "target").cloned();
    Table::new("steps", columns.chain([target]).collect())
}

fn r2(prepared: &Prepared) -> f64 {
    let [.., outputs] = trees::outputs(prepared).unwrap();
    let scale = prepared.transform.target_scale;
    let predicted: Vec<f64> = outputs.into_iter().map(|output| scale.original(output)).collect();
    metrics(&prepared.test.truth, &predicted, false).r2
}

#[test]
fn trees_learn_steps_and_products_and_not_the_test_part() {
    let prepared = prepare(&steps(2000, 1), &small_settings()).unwrap();
    assert!(r2(&prepared) > 0.99, "{}", r2(&prepared));
    // Targets in the test part are not used.
    let mut changed = prepared.clone();
    let inputs = changed.test.samples.inputs().clone();
    let zeros = Array1::<f32>::zeros(inputs.nrows()).insert_axis(Axis(1));
    changed.test.samples = neural_net::Samples::new(inputs, zeros).unwrap();
    assert_eq!(trees::outputs(&changed), trees::outputs(&prepared));
    // Noise is not learned: the trees are no better than the mean.
    let table = small_table(2000, 2);
    let shuffled = Column::of_numbers("target", (0..2000).map(|row| f64::from(row * 7919 % 2003)).collect());
    let columns = table.columns().iter().filter(|column| column.name() != "target").cloned();
    let noise = prepare(&Table::new("noise", columns.chain([shuffled]).collect()), &small_settings()).unwrap();
    assert!(r2(&noise).abs() < 0.05, "{}", r2(&noise));
}

#[test]
fn outputs_have_the_same_bits_on_any_number_of_threads() {
    let prepared = prepare(&small_table(3000, 3), &small_settings()).unwrap();
    let fit = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let outputs = pool.install(|| trees::outputs(&prepared)).unwrap();
        outputs.map(|part| part.into_iter().map(f64::to_bits).collect::<Vec<u64>>())
    };
    let expected = fit(1);
    for threads in [2, 3] {
        assert_eq!(fit(threads), expected, "{threads} threads");
    }
}

#[test]
fn a_run_takes_their_metrics_if_the_table_is_its_own() {
    let (table, settings): (Table, Settings) = (small_table(300, 1), small_settings());
    let run = trained(table.clone(), settings.clone()).run.clone().unwrap();
    let with = trees::add(&table, &run).unwrap();
    let (_, results) = with.ended.as_ref().unwrap();
    for (part, before) in results.parts.iter().zip(&run.ended.as_ref().unwrap().1.parts) {
        let trees = part.trees.unwrap();
        assert_eq!((part.network, part.linear), (before.network, before.linear));
        assert!(trees.rmse.is_finite() && trees.r2 > 0.5, "{trees:?}");
        assert_eq!(
            part.models().iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["network", "trees", "linear", "mean"]
        );
    }
    assert!(trees::add(&small_table(300, 2), &run).unwrap_err().contains("the data differ from those of the run"));
    let mut unended = (*run).clone();
    unended.ended = None;
    assert!(trees::add(&table, &unended).unwrap_err().contains("train it to its end"));
}
