//! Batches are views that cover all examples once and in order.

use ndarray::{Array1, Array2, Array3, arr0, s};
use teaching_tests::{Failure, check, for_any};
use utils::{UtilsError, create_batches};

use crate::{equal, holds};

/// Data and labels in which every element of a row is the example's index.
fn numbered(count: usize, features: usize) -> (Array2<f32>, Array2<usize>) {
    (Array2::from_shape_fn((count, features), |(i, _)| i as f32), Array2::from_shape_fn((count, 10), |(i, _)| i))
}

#[test]
fn part1_the_last_batch_takes_the_remainder() -> Result<(), Failure> {
    let (data, labels) = numbered(10, 3);
    for (batch_size, expected) in [
        (4, vec![4, 4, 2]),
        (5, vec![5, 5]),
        (9, vec![9, 1]),
        (1, vec![1; 10]),
        (10, vec![10]),
        (11, vec![10]),
        (usize::MAX, vec![10]),
    ] {
        let batches = check("create_batches", create_batches(&data, &labels, batch_size))?;
        let lengths: Vec<usize> = batches.map(|(data, _)| data.nrows()).collect();
        equal(&format!("create_batches: the lengths of 10 rows' batches of {batch_size}"), lengths, expected)?;
    }
    Ok(())
}

#[test]
fn part1_batches_are_views() -> Result<(), Failure> {
    let (data, labels) = numbered(7, 3);
    for (k, (data_batch, label_batch)) in check("create_batches", create_batches(&data, &labels, 2))?.enumerate() {
        let is_view = data_batch.as_ptr() == &raw const data[[2 * k, 0]];
        let is_view = is_view && label_batch.as_ptr() == &raw const labels[[2 * k, 0]];
        holds(is_view, || format!("create_batches: batch {k} is a copy, expected a view of row {}", 2 * k))?;
    }
    Ok(())
}

#[test]
fn part1_batches_are_made_of_arrays_of_any_dimension() -> Result<(), Failure> {
    let images = Array3::from_shape_fn((5, 4, 4), |(i, _, _)| i);
    let labels = Array1::from_iter(0..5);
    let batches: Vec<_> = check("create_batches", create_batches(&images, &labels, 3))?.collect();
    equal("create_batches: batch 1 of 5 images in threes", batches[1].0, images.slice(s![3.., .., ..]))?;
    equal("create_batches: the labels of batch 1 of 5 images in threes", batches[1].1, labels.slice(s![3..]))?;

    let (dynamic, labels) = (images.clone().into_dyn(), labels.into_dyn());
    let batches: Vec<_> = check("create_batches", create_batches(&dynamic, &labels, 3))?.collect();
    equal(
        "create_batches: batch 0 of 5 images in threes",
        batches[0].0.clone(),
        images.slice(s![..3, .., ..]).into_dyn(),
    )
}

#[test]
fn part1_batches_are_made_of_views_with_any_strides() -> Result<(), Failure> {
    let (data, labels) = numbered(6, 3);
    let (data, labels) = (data.slice(s![..;-2, ..]), labels.slice(s![..;-2, 0]));
    let batches = check("create_batches", create_batches(&data, &labels, 2))?;
    let indices: Vec<usize> = batches.flat_map(|(_, labels)| labels.to_vec()).collect();
    equal("create_batches: every second label from the last", indices, [5, 3, 1])
}

#[test]
fn part1_no_examples_make_no_batch() -> Result<(), Failure> {
    let (data, labels) = numbered(0, 3);
    let batches = check("create_batches", create_batches(&data, &labels, 4))?;
    equal("create_batches: the number of batches of no examples", batches.len(), 0)
}

#[test]
fn part1_batches_reject_mismatched_sizes() -> Result<(), Failure> {
    let (data, labels) = numbered(6, 3);
    let error = create_batches(&data, &labels, 0).err();
    equal("create_batches: the error for batches of 0", error, Some(UtilsError::ZeroBatchSize))?;

    let error = create_batches(&data, &Array1::<u8>::zeros(5), 2).err();
    let expected = UtilsError::ExampleCountMismatch { data: vec![6, 3], labels: vec![5] };
    equal(
        "create_batches: the message for 6 rows and 5 labels",
        expected.to_string(),
        "create_batches: data of shape [6, 3] and labels of shape [5]: axis 0 must have the same length",
    )?;
    equal("create_batches: the error for 6 rows and 5 labels", error, Some(expected))?;

    let error = create_batches(&data, &arr0(1).into_dyn(), 2).err();
    let expected = UtilsError::NoExampleAxis { data: vec![6, 3], labels: vec![] };
    equal("create_batches: the error for one label without an axis", error, Some(expected))
}

#[test]
fn part1_batches_agree_with_chunks_of_rows() -> Result<(), Failure> {
    for_any(256, (0..100_usize, 0..5_usize, 1..120_usize), |(count, features, batch_size)| {
        let (data, labels) = numbered(count, features);
        let of = format!("of {count} × {features} in batches of {batch_size}");
        let batches = check("create_batches", create_batches(&data, &labels, batch_size))?;
        equal(&format!("create_batches: the number {of}"), batches.len(), count.div_ceil(batch_size))?;
        let rows: Vec<usize> = (0..count).collect();
        for (k, ((data, labels), rows)) in batches.zip(rows.chunks(batch_size)).enumerate() {
            equal(&format!("create_batches: the shape of batch {k} {of}"), data.dim(), (rows.len(), features))?;
            let is_in_order =
                data.outer_iter().zip(rows).all(|(values, &row)| values.iter().all(|&value| value == row as f32));
            holds(is_in_order, || format!("create_batches: batch {k} {of} has other rows than {rows:?}"))?;
            equal(&format!("create_batches: the labels of batch {k} {of}"), labels.column(0).to_vec(), rows)?;
        }
        Ok(())
    })
}
