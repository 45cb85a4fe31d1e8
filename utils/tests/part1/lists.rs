//! Lists of arrays are added array by array and element by element.

use ndarray::{Array1, Array2, ArrayView2, array};
use proptest::collection::vec;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, check, for_any};
use utils::{UtilsError, add_elementwise, zeros_weights};

use crate::equal;

#[test]
fn part1_lists_of_different_length_are_rejected() -> Result<(), Failure> {
    let error = add_elementwise(&[array![1.0]], &[array![1.0], array![2.0]]).err();
    let expected = UtilsError::ListLengthMismatch { a: 1, b: 2 };
    equal(
        "add_elementwise: the message for lists of 1 and 2",
        expected.to_string(),
        "add_elementwise: a list of 1 and a list of 2 arrays: the lists must have the same length",
    )?;
    equal("add_elementwise: the error for lists of 1 and 2", error, Some(expected))
}

#[test]
fn part1_arrays_of_different_shape_are_rejected_and_never_broadcast() -> Result<(), Failure> {
    let a = [Array2::<f32>::zeros((2, 3)), Array2::zeros((2, 3))];
    let b = [Array2::<f32>::zeros((2, 3)), Array2::zeros((1, 3))];
    let error = add_elementwise(&a, &b).err();
    let expected = UtilsError::ArrayShapeMismatch { index: 1, a: vec![2, 3], b: vec![1, 3] };
    equal(
        "add_elementwise: the message for arrays of 2 × 3 and 1 × 3",
        expected.to_string(),
        "add_elementwise: arrays of shape [2, 3] and [1, 3] at index 1: the shapes must be the same",
    )?;
    equal("add_elementwise: the error for arrays of 2 × 3 and 1 × 3", error, Some(expected))
}

#[test]
fn part1_empty_lists_have_an_empty_sum() -> Result<(), Failure> {
    let sum = add_elementwise::<f32, _, _, _>(&[] as &[Array1<f32>], &[] as &[Array1<f32>]);
    equal("add_elementwise: the sum of empty lists", sum, Ok(vec![]))
}

#[test]
fn part1_views_with_other_strides_are_added_by_index() -> Result<(), Failure> {
    let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[10.0, 20.0], [30.0, 40.0]]);
    let sum = check("add_elementwise", add_elementwise(&[a.t()], &[b.view()]))?;
    equal("add_elementwise: [[1, 3], [2, 4]] and [[10, 20], [30, 40]]", sum, [array![[11.0, 23.0], [32.0, 44.0]]])
}

#[test]
fn part1_zeros_are_neutral() -> Result<(), Failure> {
    let ones: Vec<Array2<f64>> = vec![Array2::ones((3, 2)), Array2::ones((2, 4))];
    let zeros = check("zeros_weights", zeros_weights(&[3, 2, 4]))?;
    let sum = check("add_elementwise", add_elementwise(&zeros, &ones))?;
    equal("add_elementwise: the sum of zeros and ones", sum, ones)
}

#[test]
fn part1_sums_agree_with_loops_over_the_indices() -> Result<(), Failure> {
    for_any(256, (vec((0..6_usize, 0..6_usize), 0..5), 0..1000_u64), |(shapes, seed)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut list = || -> Vec<Array2<f32>> {
            let arrays = shapes.iter();
            arrays.map(|&shape| Array2::from_shape_simple_fn(shape, || rng.random_range(-1e3..1e3))).collect()
        };
        let (a, b) = (list(), list());
        let sums = check("add_elementwise", add_elementwise(&a, &b))?;
        equal("add_elementwise: the length of the sum of two lists", sums.len(), shapes.len())?;
        for (k, (sum, (a, b))) in sums.iter().zip(a.iter().zip(&b)).enumerate() {
            equal(&format!("add_elementwise: the shape of sum {k}"), sum.dim(), a.dim())?;
            for (index, &found) in sum.indexed_iter() {
                let expected = a[index] + b[index];
                let (i, j) = index;
                equal(
                    &format!("add_elementwise: element ({i}, {j}) of sum {k}, {} + {},", a[index], b[index]),
                    found,
                    expected,
                )?;
            }
        }
        let borrowed: Vec<ArrayView2<f32>> = a.iter().map(|array| array.view()).collect();
        let sums_of_views = check("add_elementwise", add_elementwise(&borrowed, &b))?;
        equal("add_elementwise: the sum of views", sums_of_views, sums)
    })
}
