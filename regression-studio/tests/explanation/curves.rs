//! Partial dependence and the curves of individual rows.

use regression_studio::explanation::Grid;
use regression_studio::partial_dependence::{MAX_CURVES, quantiles};
use regression_studio::prediction::Cell;

use crate::support::{small_settings, small_table, trained};

#[test]
fn the_curve_of_a_row_is_its_prediction_with_each_value_of_the_feature() {
    let table = small_table(400, 3);
    let model = trained(table.clone(), small_settings()).run.as_ref().unwrap().model.clone();
    let cell = |name: &str| model.cell(&table, name, 5);
    let inputs = model.inputs_of_row(cell);
    let predicted =
        |feature: &str, value: Cell| model.predict_row(|name| if name == feature { value.clone() } else { cell(name) });
    let of_x = model.feature_curves("x", &inputs).unwrap().unwrap();
    let Grid::Numbers(values) = &of_x.grid else { panic!("x is a number") };
    assert!(values.len() == 21 && values.is_sorted() && values[0] < -0.9 && values[20] > 0.9, "{values:?}");
    let Cell::Number(own) = cell("x") else { panic!("x is a number") };
    assert!(values.iter().any(|value| (value - own).abs() < 1e-6), "the row's own value is a point");
    for (&value, &found) in values.iter().zip(&of_x.curves.row) {
        assert!((predicted("x", Cell::Number(value)) - found).abs() < 1e-4);
    }
    let of_direction = model.feature_curves("direction", &inputs).unwrap().unwrap();
    assert_eq!(of_direction.grid, Grid::Categories(vec!["up".to_owned(), "down".to_owned()]));
    let expected = ["up", "down"].map(|text| predicted("direction", Cell::Text(text.to_owned())));
    assert_eq!(of_direction.curves.row, expected);
    assert!(of_direction.curves.mean[0] > of_direction.curves.mean[1] + 0.3, "{:?}", of_direction.curves.mean);
    assert_eq!(model.feature_curves("target", &inputs).unwrap(), None);

    // The mean is over all background rows. Some of them also have an individual curve.
    let background = model.background.as_ref().unwrap().inputs();
    let of_grid = |row: ndarray::ArrayView1<f32>| -> Vec<f64> {
        let cell = |value: f64, name: &str| match name {
            "x" => Cell::Number(value),
            "y" => Cell::Number(model.transform.inputs[1].scale().original(f64::from(row[1]))),
            _ => Cell::Text(if row[2] > 0.0 { "up" } else { "down" }.to_owned()),
        };
        values.iter().map(|&value| model.predict_row(|name| cell(value, name))).collect()
    };
    let curves: Vec<Vec<f64>> = background.outer_iter().map(of_grid).collect();
    assert_eq!(of_x.curves.individual.len(), 25);
    const { assert!(MAX_CURVES >= 25) };
    let is_near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
    assert!(of_x.curves.individual.iter().all(|curve| curves.iter().any(|other| is_near(curve, other))));
    for (point, mean) in of_x.curves.mean.iter().enumerate() {
        let expected = curves.iter().map(|curve| curve[point]).sum::<f64>() / curves.len() as f64;
        assert!((mean - expected).abs() < 1e-4);
    }
}

#[test]
fn quantiles_are_values_from_the_smallest_to_the_largest() {
    assert_eq!(quantiles(vec![3.0, 1.0, 2.0]), [1.0, 2.0, 3.0]);
    assert_eq!(quantiles(vec![1.0; 50]), [1.0]);
    assert_eq!((quantiles(vec![4.0]), quantiles(vec![])), (vec![4.0], vec![]));
    let many = quantiles((0..100).rev().map(|value| value as f32).collect());
    assert_eq!((many.len(), many[0], many[19]), (20, 0.0, 99.0));
}
