use ndarray::{Array2, ArrayRef2};

use crate::pixel::{Pixel, in_f32};

/// Computes the correlation of `image` with `kernel` by its definition, with four loops. The result
/// has the image's shape.
///
/// ```
/// use ndarray::array;
/// let difference = array![[-1.0, 0.0, 1.0]];
/// let image = array![[1.0_f32, 2.0, 4.0]];
/// assert_eq!(filters::correlation_trivial(&difference, &image), array![[2.0, 3.0, -2.0]]);
/// ```
pub fn correlation_trivial<P: Pixel>(kernel: &ArrayRef2<f32>, image: &ArrayRef2<P>) -> Array2<f32> {
    in_f32(image, |image| correlation(kernel, &image))
}

// report: begin correlation_trivial
fn correlation(kernel: &ArrayRef2<f32>, image: &ArrayRef2<f32>) -> Array2<f32> {
    let ((kernel_rows, kernel_columns), (rows, columns)) = (kernel.dim(), image.dim());
    let mut result = Array2::zeros((rows, columns));
    for i in 0..rows {
        for j in 0..columns {
            let mut sum = 0.0;
            for u in 0..kernel_rows {
                for v in 0..kernel_columns {
                    // Above and left of the image, the difference wraps around to an index beyond
                    // every row and column.
                    let row = (i + u).wrapping_sub(kernel_rows / 2);
                    let column = (j + v).wrapping_sub(kernel_columns / 2);
                    let is_inside = row < rows && column < columns;
                    let pixel = if is_inside { image[[row, column]] } else { 0.0 };
                    sum += kernel[[u, v]] * pixel;
                }
            }
            result[[i, j]] = sum;
        }
    }
    result
}
// report: end correlation_trivial
