use std::mem::MaybeUninit;

use kernels_cpu::correlation::{Coefficients, correlate};
use kernels_cpu::{InstructionSet, memory};
use ndarray::{Array2, ArrayRef2};
use rayon::prelude::*;

use crate::pixel::{Pixel, Pixels, row_major};

/// Pixels per task: enough to amortize the overhead of a task, the conversion of the rows that two
/// tasks share, and the copies of the image's edges.
const PIXELS_PER_TASK: usize = 32 * 1024;
/// Number of rows that the kernel computes at a time. Tasks consist of whole strips.
const STRIP: usize = 4;

/// Computes the correlation of `image` with `kernel` in parallel, on rayon's current thread pool.
/// It replaces the homework's `correlation_numba`. The result has the image's shape.
///
/// Each task computes a band of rows with [`kernels_cpu::correlation`], which explains the method.
/// A kernel of rank one takes two passes (see [`factors`]); intermediate values may then overflow
/// if values exceed 10³⁷. The result's bits do not depend on the number of threads.
///
/// ```
/// use ndarray::array;
/// let difference = array![[-1.0, 0.0, 1.0]];
/// let image = array![[1_u8, 2, 4]];
/// assert_eq!(filters::correlation_rayon(&difference, &image), array![[2.0, 3.0, -2.0]]);
/// ```
pub fn correlation_rayon<P: Pixel>(kernel: &ArrayRef2<f32>, image: &ArrayRef2<P>) -> Array2<f32> {
    row_major(image, |pixels| correlation(kernel, image.dim(), pixels))
}

/// Factors `kernel` exactly into a column and a row. [`correlation_rayon`] then sums over the
/// column and then over the row, which takes *R* + *C* multiply-adds instead of *R* · *C*. `None`
/// if there are no factors, or if that is not fewer.
///
/// ```
/// let sobel = filters::SOBEL.kernel();
/// assert_eq!(filters::factors(&sobel), Some((vec![1.0, 2.0, 1.0], vec![1.0, 0.0, -1.0])));
/// assert_eq!(filters::factors(&filters::NEIGHBOURS.kernel()), None);
/// ```
pub fn factors(kernel: &ArrayRef2<f32>) -> Option<(Vec<f32>, Vec<f32>)> {
    coefficients(kernel).factors().map(|(column, row)| (column.to_vec(), row.to_vec()))
}

fn coefficients(kernel: &ArrayRef2<f32>) -> Coefficients {
    Coefficients::new(kernel.nrows(), kernel.ncols(), kernel.iter().copied().collect())
}

#[allow(unsafe_code)]
fn correlation(kernel: &ArrayRef2<f32>, (rows, columns): (usize, usize), image: Pixels) -> Array2<f32> {
    if image.len() == 0 {
        return Array2::zeros((rows, columns));
    }
    let kernel = coefficients(kernel);
    let zeros = vec![0.0; columns];
    let mut result = memory::vec_with_capacity(image.len());
    let cells = &mut result.spare_capacity_mut()[..image.len()];
    let (set, band) = (InstructionSet::detect(), PIXELS_PER_TASK.div_ceil(columns).next_multiple_of(STRIP));
    // report: begin correlation_rayon
    cells.par_chunks_mut(band * columns).enumerate().for_each(|(task, out): (_, &mut [MaybeUninit<f32>])| {
        // The rows above and below the image are zeros.
        let (first, above) = (task * band, kernel.rows() / 2);
        let end = first + out.len() / columns + kernel.rows().saturating_sub(1);
        let inside = first.saturating_sub(above)..end.saturating_sub(above).min(rows);
        let pixels = image.to_f32(inside.start * columns..inside.end * columns);
        let row = |row: usize| match inside.contains(&row) {
            true => &pixels[(row - inside.start) * columns..][..columns],
            false => &zeros[..],
        };
        let rows: Vec<&[f32]> = (first..end).map(|i| row(i.wrapping_sub(above))).collect();
        correlate(set, &kernel, &rows, out);
    });
    // report: end correlation_rayon
    // SAFETY: the chunks cover every cell, and `correlate` initializes every element of its chunk.
    unsafe { result.set_len(image.len()) };
    match Array2::from_shape_vec((rows, columns), result) {
        Ok(result) => result,
        Err(error) => unreachable!("the result has the image's length: {error}"),
    }
}
