use ndarray::{Array2, ArrayRef2};

use crate::ShapeMismatch;

/// The element-wise maximum in parallel, on rayon's current thread pool. `ndarray::Zip` and its `par_for_each`, or
/// `par_chunks_mut` of `rayon::prelude`, divide the work among the threads.
pub fn max_rayon(a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Array2<i32>, ShapeMismatch> {
    // write: max_rayon
    ShapeMismatch::check(a.dim(), b.dim())?;
    let mut c = Array2::zeros(a.dim());
    ndarray::Zip::from(&mut c).and(a).and(b).par_for_each(|c, &a, &b| *c = if a > b { a } else { b });
    Ok(c)
    // end
}
