//! Lists of arrays are added array by array and element by element.

use ndarray::{Array1, Array2, ArrayView2, array};
use proptest::prelude::*;
use utils::{UtilsError, add_elementwise, zeros_weights};

#[test]
fn part1_lists_of_different_length_are_rejected() {
    let error = add_elementwise(&[array![1.0]], &[array![1.0], array![2.0]]).unwrap_err();
    assert_eq!(error, UtilsError::ListLengthMismatch { a: 1, b: 2 });
    assert_eq!(
        error.to_string(),
        "add_elementwise: a list of 1 and a list of 2 arrays: the lists must have the same length"
    );
}

#[test]
fn part1_arrays_of_different_shape_are_rejected_and_never_broadcast() {
    let a = [Array2::<f32>::zeros((2, 3)), Array2::zeros((2, 3))];
    let b = [Array2::<f32>::zeros((2, 3)), Array2::zeros((1, 3))];
    let error = add_elementwise(&a, &b).unwrap_err();
    assert_eq!(error, UtilsError::ArrayShapeMismatch { index: 1, a: vec![2, 3], b: vec![1, 3] });
    assert_eq!(
        error.to_string(),
        "add_elementwise: arrays of shape [2, 3] and [1, 3] at index 1: the shapes must be the same"
    );
}

#[test]
fn part1_empty_lists_have_an_empty_sum() {
    assert_eq!(add_elementwise::<f32, _, _, _>(&[] as &[Array1<f32>], &[] as &[Array1<f32>]), Ok(vec![]));
}

#[test]
fn part1_views_with_other_strides_are_added_by_index() {
    let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[10.0, 20.0], [30.0, 40.0]]);
    assert_eq!(add_elementwise(&[a.t()], &[b.view()]).unwrap(), [array![[11.0, 23.0], [32.0, 44.0]]]);
}

#[test]
fn part1_zeros_are_neutral() {
    let ones: Vec<Array2<f64>> = vec![Array2::ones((3, 2)), Array2::ones((2, 4))];
    assert_eq!(add_elementwise(&zeros_weights(&[3, 2, 4]).unwrap(), &ones).unwrap(), ones);
}

/// Two lists of matrices; each pair has one shape.
fn pairs_of_matrices() -> impl Strategy<Value = Vec<(Array2<f32>, Array2<f32>)>> {
    let pair = (0..6_usize, 0..6_usize).prop_flat_map(|(rows, columns)| {
        let values = || prop::collection::vec(-1e3..1e3_f32, rows * columns);
        (values(), values()).prop_map(move |(a, b)| {
            let matrix = |values| Array2::from_shape_vec((rows, columns), values).unwrap();
            (matrix(a), matrix(b))
        })
    });
    prop::collection::vec(pair, 0..5)
}

proptest! {
    #[test]
    fn part1_sums_agree_with_loops_over_the_indices(pairs in pairs_of_matrices()) {
        let a: Vec<ArrayView2<f32>> = pairs.iter().map(|(a, _)| a.view()).collect();
        let b: Vec<ArrayView2<f32>> = pairs.iter().map(|(_, b)| b.view()).collect();
        let sums = add_elementwise(&a, &b).unwrap();
        prop_assert_eq!(sums.len(), pairs.len());
        for (sum, (a, b)) in sums.iter().zip(&pairs) {
            prop_assert_eq!(sum.dim(), a.dim());
            for i in 0..a.nrows() {
                for j in 0..a.ncols() {
                    prop_assert_eq!(sum[[i, j]], a[[i, j]] + b[[i, j]]);
                }
            }
        }
    }
}
