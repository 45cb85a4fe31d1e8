use ndarray::{Array2, ArrayRef2};

use crate::MatmulElement;

/// Computes X·Xᵀ by its definition, in three nested loops. If `x` is *M* × *N*, the result is *M* ×
/// *M* with the elements (i, j) = Σₖ x(i, k) · x(j, k).
///
/// ```
/// use ndarray::array;
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(matmul_functions::matmul_transpose_trivial(&x), array![[5.0, 11.0], [11.0, 25.0]]);
/// ```
// report: begin matmul_trivial
pub fn matmul_transpose_trivial<F: MatmulElement>(x: &ArrayRef2<F>) -> Array2<F> {
    let (rows, columns) = x.dim();
    let mut product = Array2::zeros((rows, rows));
    for i in 0..rows {
        for j in 0..rows {
            for k in 0..columns {
                product[[i, j]] += x[[i, k]] * x[[j, k]];
            }
        }
    }
    product
}
// report: end matmul_trivial
