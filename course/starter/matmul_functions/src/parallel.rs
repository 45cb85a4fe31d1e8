use ndarray::{Array2, ArrayRef2};

/// X·Xᵀ in parallel, on rayon's current thread pool: the rows of the result can be computed independently of each other.
/// `c.outer_iter_mut().into_par_iter()` (`ndarray::parallel::prelude`) distributes them.
pub fn matmul_transpose_rayon(x: &ArrayRef2<f32>) -> Array2<f32> {
    // write: matmul_transpose_rayon
    use ndarray::parallel::prelude::*;
    let x = x.as_standard_layout();
    let mut c = Array2::zeros((x.nrows(), x.nrows()));
    c.outer_iter_mut().into_par_iter().zip(x.outer_iter()).for_each(|(mut row, left)| {
        for (c, right) in row.iter_mut().zip(x.outer_iter()) {
            *c = left.iter().zip(right).map(|(a, b)| a * b).sum();
        }
    });
    c
    // end
}
