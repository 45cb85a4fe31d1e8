//! Batches are views that cover all examples once, in order.

use ndarray::{Array1, Array2, Array3, arr0, s};
use proptest::prelude::*;
use utils::{UtilsError, create_batches};

/// Data and labels, with the example's index in every element of its row.
fn numbered(count: usize, features: usize) -> (Array2<f32>, Array2<usize>) {
    (Array2::from_shape_fn((count, features), |(i, _)| i as f32), Array2::from_shape_fn((count, 10), |(i, _)| i))
}

#[test]
fn part1_the_last_batch_takes_the_remainder() {
    let (data, labels) = numbered(10, 3);
    let lengths = |batch_size| -> Vec<usize> {
        create_batches(&data, &labels, batch_size).unwrap().map(|(data, _)| data.nrows()).collect()
    };
    assert_eq!(lengths(4), [4, 4, 2]);
    assert_eq!(lengths(5), [5, 5]);
    assert_eq!(lengths(9), [9, 1]);
    assert_eq!(lengths(1), [1; 10]);
    assert_eq!(lengths(10), [10]);
    assert_eq!(lengths(11), [10]);
    assert_eq!(lengths(usize::MAX), [10]);
}

#[test]
fn part1_batches_are_views() {
    let (data, labels) = numbered(7, 3);
    for (k, (data_batch, label_batch)) in create_batches(&data, &labels, 2).unwrap().enumerate() {
        assert_eq!(data_batch.as_ptr(), &raw const data[[2 * k, 0]]);
        assert_eq!(label_batch.as_ptr(), &raw const labels[[2 * k, 0]]);
    }
}

#[test]
fn part1_batches_are_made_of_arrays_of_any_dimension() {
    let images = Array3::from_shape_fn((5, 4, 4), |(i, _, _)| i);
    let labels = Array1::from_iter(0..5);
    let batches: Vec<_> = create_batches(&images, &labels, 3).unwrap().collect();
    assert_eq!(batches[1].0, images.slice(s![3.., .., ..]));
    assert_eq!(batches[1].1, labels.slice(s![3..]));

    let (dynamic, labels) = (images.clone().into_dyn(), labels.into_dyn());
    let batches: Vec<_> = create_batches(&dynamic, &labels, 3).unwrap().collect();
    assert_eq!(batches[0].0, images.slice(s![..3, .., ..]).into_dyn());
}

#[test]
fn part1_batches_are_made_of_views_with_any_strides() {
    let (data, labels) = numbered(6, 3);
    let (data, labels) = (data.slice(s![..;-2, ..]), labels.slice(s![..;-2, 0]));
    let indices: Vec<usize> =
        create_batches(&data, &labels, 2).unwrap().flat_map(|(_, labels)| labels.to_vec()).collect();
    assert_eq!(indices, [5, 3, 1]);
}

#[test]
fn part1_no_examples_make_no_batch() {
    let (data, labels) = numbered(0, 3);
    assert_eq!(create_batches(&data, &labels, 4).unwrap().len(), 0);
}

#[test]
fn part1_batches_reject_mismatched_sizes() {
    let (data, labels) = numbered(6, 3);
    let error = create_batches(&data, &labels, 0).err();
    assert_eq!(error, Some(UtilsError::ZeroBatchSize));

    let error = create_batches(&data, &Array1::<u8>::zeros(5), 2).err().unwrap();
    assert_eq!(error, UtilsError::ExampleCountMismatch { data: vec![6, 3], labels: vec![5] });
    assert_eq!(
        error.to_string(),
        "create_batches: data of shape [6, 3] and labels of shape [5]: axis 0 must have the same length"
    );

    let error = create_batches(&data, &arr0(1).into_dyn(), 2).err();
    assert_eq!(error, Some(UtilsError::NoExampleAxis { data: vec![6, 3], labels: vec![] }));
}

proptest! {
    #[test]
    fn part1_batches_agree_with_chunks_of_rows(count in 0..100_usize, features in 0..5_usize, batch_size in 1..120_usize) {
        let (data, labels) = numbered(count, features);
        let batches = create_batches(&data, &labels, batch_size).unwrap();
        prop_assert_eq!(batches.len(), count.div_ceil(batch_size));

        let rows: Vec<usize> = (0..count).collect();
        for ((data, labels), rows) in batches.zip(rows.chunks(batch_size)) {
            prop_assert_eq!(data.dim(), (rows.len(), features));
            prop_assert!(data.outer_iter().zip(rows).all(|(values, &row)| values.iter().all(|&value| value == row as f32)));
            prop_assert_eq!(labels.column(0).to_vec(), rows);
        }
    }
}
