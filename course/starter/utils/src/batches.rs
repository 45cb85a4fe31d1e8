use ndarray::{ArrayRef2, ArrayView2, Axis, Slice};

/// Consecutive batches of `batch_size` rows of the data with the same rows of the labels; the last batch has the
/// remainder. They are views: nothing is copied.
pub fn create_batches<'a>(
    data: &'a ArrayRef2<f64>,
    labels: &'a ArrayRef2<f64>,
    batch_size: usize,
) -> Vec<(ArrayView2<'a, f64>, ArrayView2<'a, f64>)> {
    // write: create_batches
    let rows = data.nrows();
    let batch = |start: usize| {
        let rows = Slice::from(start..rows.min(start + batch_size));
        (data.slice_axis(Axis(0), rows), labels.slice_axis(Axis(0), rows))
    };
    (0..rows).step_by(batch_size).map(batch).collect()
    // end
}
