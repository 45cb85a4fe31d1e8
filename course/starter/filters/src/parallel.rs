use ndarray::{Array2, ArrayRef2};

/// The correlation in parallel, on rayon's current thread pool. `ndarray::Zip::indexed(&mut result)` and its `par_for_each` give each
/// element with its index to one of the threads.
pub fn correlation_rayon(kernel: &ArrayRef2<f32>, image: &ArrayRef2<f32>) -> Array2<f32> {
    // write: correlation_rayon
    let ((rows, columns), (kernel_rows, kernel_columns)) = (image.dim(), kernel.dim());
    let mut result = Array2::zeros((rows, columns));
    ndarray::Zip::indexed(result.rows_mut()).par_for_each(|i, mut sums| {
        for u in 0..kernel_rows {
            let Some(row) = (i + u).checked_sub(kernel_rows / 2).filter(|&row| row < rows) else { continue };
            for v in 0..kernel_columns {
                // The columns whose neighbour of this coefficient is in the image, and those neighbours.
                let (left, start) = ((kernel_columns / 2).saturating_sub(v), v.saturating_sub(kernel_columns / 2));
                let Some(count) = columns.checked_sub(left.max(start)) else { continue };
                let neighbours = image.slice(ndarray::s![row, start..start + count]);
                let mut sums = sums.slice_mut(ndarray::s![left..left + count]);
                sums.scaled_add(kernel[[u, v]], &neighbours);
            }
        }
    });
    result
    // end
}
