use ndarray::{Array2, ArrayRef2};

use crate::ShapeMismatch;

/// The element-wise maximum by two loops, one comparison each: no iterator, no library call. `a`, `b` and the result are
/// M × N; `a[[i, j]]` is an element, `a.dim()` the pair (M, N), `Array2::zeros((m, n))` a new matrix.
pub fn max_cpu(a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Array2<i32>, ShapeMismatch> {
    // write: max_cpu
    ShapeMismatch::check(a.dim(), b.dim())?;
    let (rows, columns) = a.dim();
    let mut c = Array2::zeros((rows, columns));
    for i in 0..rows {
        for j in 0..columns {
            c[[i, j]] = if a[[i, j]] > b[[i, j]] { a[[i, j]] } else { b[[i, j]] };
        }
    }
    Ok(c)
    // end
}
