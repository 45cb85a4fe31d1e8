use ndarray::{Array2, ArrayRef2};

use crate::ShapeMismatch;

/// Computes the element-wise maximum by its definition, with two loops. `a`, `b` and the result are
/// *M* × *N*.
///
/// # Errors
/// If the shapes of `a` and `b` differ.
///
/// ```
/// use ndarray::array;
/// let maximum = max_functions::max_cpu(&array![[1, 7], [255, 0]], &array![[3, 2], [9, 0]])?;
/// assert_eq!(maximum, array![[3, 7], [255, 0]]);
/// # Ok::<(), max_functions::ShapeMismatch>(())
/// ```
// report: begin max_cpu
pub fn max_cpu(a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Array2<i32>, ShapeMismatch> {
    ShapeMismatch::check(a.dim(), b.dim())?;
    let (rows, columns) = a.dim();
    let mut maximum = Array2::zeros((rows, columns));
    for i in 0..rows {
        for j in 0..columns {
            maximum[[i, j]] = if a[[i, j]] > b[[i, j]] { a[[i, j]] } else { b[[i, j]] };
        }
    }
    Ok(maximum)
}
// report: end max_cpu
