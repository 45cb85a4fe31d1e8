use ndarray::{Array2, ArrayRef2};

/// X·Xᵀ by three loops: no library call for the product.
pub fn matmul_transpose_trivial(x: &ArrayRef2<f32>) -> Array2<f32> {
    // write: matmul_transpose_trivial
    let (rows, columns) = x.dim();
    let mut c = Array2::zeros((rows, rows));
    for i in 0..rows {
        for j in 0..rows {
            for k in 0..columns {
                c[[i, j]] += x[[i, k]] * x[[j, k]];
            }
        }
    }
    c
    // end
}
