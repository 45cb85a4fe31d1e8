//! The public tests of part 1. `cargo test -p utils`

use std::convert::Infallible;

use ndarray::{Array2, array};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use teaching_tests::{Failure, call, check, seed_of_the_tests};
use utils::{add_elementwise, create_batches, random_weights, sigmoid, sigmoid_prime, zeros_biases, zeros_weights};

/// The result of a function that has no errors of its own.
fn of<T>(function: impl FnOnce() -> T) -> Result<T, String> {
    call(|| Ok::<T, Infallible>(function()))
}

/// Matrices as nested brackets, row by row.
fn in_brackets(matrices: &[Array2<f64>]) -> String {
    let rows = |matrix: &Array2<f64>| format!("{:?}", matrix.outer_iter().map(|row| row.to_vec()).collect::<Vec<_>>());
    matrices.iter().map(rows).collect::<Vec<_>>().join(" and ")
}

/// Compares a function's values for each element of `x`.
fn are_close(
    name: &str,
    x: &Array2<f64>,
    found: Result<Array2<f64>, String>,
    expected: &Array2<f64>,
) -> Result<(), Failure> {
    let found = found.map_err(|error| format!("{name}: {error}"))?;
    if found.dim() != expected.dim() {
        return Err(format!("{name}: the shape is {:?}, expected {:?}", found.dim(), expected.dim()).into());
    }
    for ((index, &found), &expected) in found.indexed_iter().zip(expected) {
        let is_close = (found - expected).abs() <= 1e-15;
        if !is_close {
            let x = x[index];
            return Err(format!("{name}: for x = {x} it is {found}, expected {expected} (element {index:?})").into());
        }
    }
    Ok(())
}

#[test]
fn sigmoid_has_known_values() -> Result<(), Failure> {
    let x = array![[0.0, 1.0, -5.0], [-1000.0, 1000.0, 2.0]];
    let expected =
        array![[0.5, 0.731_058_578_630_004_9, 0.006_692_850_924_284_855], [0.0, 1.0, 0.880_797_077_977_882_4]];
    are_close("sigmoid", &x, of(|| sigmoid(&x)), &expected)
}

#[test]
fn sigmoid_prime_has_known_values() -> Result<(), Failure> {
    let x = array![[0.0, 1.0], [-1000.0, 2.0]];
    let expected = array![[0.25, 0.196_611_933_241_481_85], [0.0, 0.104_993_585_403_506_5]];
    are_close("sigmoid_prime", &x, of(|| sigmoid_prime(&x)), &expected)
}

#[test]
fn random_weights_have_the_shapes_the_bounds_and_the_seed() -> Result<(), Failure> {
    let sizes = [784, 30, 10];
    let draw = |seed| of(|| random_weights(&sizes, &mut ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed)));
    let weights = draw(1).map_err(|error| format!("random_weights: {error}"))?;
    let shapes: Vec<_> = weights.iter().map(Array2::dim).collect();
    let wrong = |what: String| Err(format!("random_weights: {what}").into());
    if shapes != [(784, 30), (30, 10)] {
        return wrong(format!("the shapes are {shapes:?}, expected [(784, 30), (30, 10)]"));
    }
    for weights in &weights {
        let bound = 1.0 / (weights.nrows() as f64).sqrt();
        let largest = weights.iter().fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
        if largest > bound || largest < 0.9 * bound {
            return wrong(format!("the largest is {largest}, expected a little below 1/√{}", weights.nrows()));
        }
        let mean = weights.mean().unwrap_or(0.0);
        if mean.abs() > bound / 4.0 {
            return wrong(format!("the mean is {mean}, expected about 0"));
        }
    }
    if draw(1)? != weights || draw(2)? == weights {
        return wrong("the same generator must give the same weights, another one others".to_owned());
    }
    Ok(())
}

#[test]
fn zeros_have_the_shapes() -> Result<(), Failure> {
    let weights = of(|| zeros_weights(&[4, 3, 2])).map_err(|error| format!("zeros_weights: {error}"))?;
    let shapes: Vec<_> = weights.iter().map(Array2::dim).collect();
    if shapes != [(4, 3), (3, 2)] {
        let expected = "expected [(4, 3), (3, 2)]";
        return Err(format!("zeros_weights: for sizes [4, 3, 2] the shapes are {shapes:?}, {expected}").into());
    }
    if weights.iter().flatten().any(|weight| *weight != 0.0) {
        return Err(
            format!("zeros_weights: for sizes [4, 3, 2] they are {}, expected zeros", in_brackets(&weights)).into()
        );
    }
    let biases = of(|| zeros_biases(&[4, 3, 2])).map_err(|error| format!("zeros_biases: {error}"))?;
    let lengths: Vec<_> = biases.iter().map(|biases| biases.len()).collect();
    if lengths != [3, 2] {
        return Err(format!("zeros_biases: for sizes [4, 3, 2] the lengths are {lengths:?}, expected [3, 2]").into());
    }
    match biases.iter().flatten().find(|bias| **bias != 0.0) {
        None => Ok(()),
        Some(bias) => Err(format!("zeros_biases: for sizes [4, 3, 2] one is {bias}, expected zeros").into()),
    }
}

#[test]
fn batches_have_all_rows_in_order_and_the_remainder_last() -> Result<(), Failure> {
    let data = Array2::from_shape_fn((10, 3), |(i, _)| i as f64);
    let labels = Array2::from_shape_fn((10, 2), |(i, _)| -(i as f64));
    let batches = of(|| create_batches(&data, &labels, 4)).map_err(|error| format!("create_batches: {error}"))?;
    let lengths: Vec<usize> = batches.iter().map(|(data, _)| data.nrows()).collect();
    if lengths != [4, 4, 2] {
        return Err(format!("create_batches: 10 rows in batches of 4 have {lengths:?} rows, expected [4, 4, 2]").into());
    }
    let rows = batches.iter().flat_map(|(data, labels)| data.outer_iter().zip(labels.outer_iter()));
    for (row, (data, label)) in rows.enumerate() {
        if data[0] != row as f64 || label[0] != -(row as f64) {
            return Err(format!(
                "create_batches: row {row} of the batches is row {} with label {}",
                data[0], -label[0]
            )
            .into());
        }
    }
    Ok(())
}

#[test]
fn lists_are_added_pair_by_pair() -> Result<(), Failure> {
    let (a, b) = ([array![[1.0, 2.0]], array![[3.0]]], [array![[10.0, 20.0]], array![[30.0]]]);
    let sums = of(|| add_elementwise(&a, &b));
    let is_right = |sums: Vec<Array2<f64>>| match sums == [array![[11.0, 22.0]], array![[33.0]]] {
        true => Ok(()),
        false => {
            let found = in_brackets(&sums);
            Err(format!("[[1, 2]], [[3]] and [[10, 20]], [[30]] give {found}, expected [[11, 22]] and [[33]]"))
        }
    };
    check("add_elementwise", sums.and_then(is_right))
}
