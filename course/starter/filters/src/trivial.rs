use ndarray::{Array2, ArrayRef2};

/// The correlation by four loops: no library call. The result has the image's shape; its element \[i, j\] is the sum over the kernel's
/// rows u and columns v of kernel\[u, v\] · image\[i + u − R/2, j + v − C/2\], where R × C is the kernel's shape, the divisions round down, and
/// what is outside of the image is 0.
///
/// `image[[i, j]]` is an element, `image.dim()` the pair (rows, columns), `Array2::zeros((rows, columns))` a new matrix.
pub fn correlation_trivial(kernel: &ArrayRef2<f32>, image: &ArrayRef2<f32>) -> Array2<f32> {
    // write: correlation_trivial
    let ((kernel_rows, kernel_columns), (rows, columns)) = (kernel.dim(), image.dim());
    let mut result = Array2::zeros((rows, columns));
    for i in 0..rows {
        for j in 0..columns {
            let mut sum = 0.0;
            for u in 0..kernel_rows {
                for v in 0..kernel_columns {
                    let row = (i + u).wrapping_sub(kernel_rows / 2);
                    let column = (j + v).wrapping_sub(kernel_columns / 2);
                    // Above and left of the image the difference wraps around, beyond every row and column.
                    if row < rows && column < columns {
                        sum += kernel[[u, v]] * image[[row, column]];
                    }
                }
            }
            result[[i, j]] = sum;
        }
    }
    result
    // end
}
