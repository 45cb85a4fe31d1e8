//! Given: the check of a result.

use ndarray::{Array2, ArrayRef2};

/// Checks every element of a result against double precision; the error names the first wrong one. A sum of n products
/// may differ by the rounding error bound n·ε · Σ |x(i, k) · x(j, k)|.
pub fn verify(c: &Array2<f32>, x: &ArrayRef2<f32>) -> Result<(), String> {
    let (rows, columns) = x.dim();
    if c.dim() != (rows, rows) {
        let (found_rows, found_columns) = c.dim();
        return Err(format!("the result is {found_rows} × {found_columns}, expected {rows} × {rows}"));
    }
    for ((i, j), &found) in c.indexed_iter() {
        let terms = || (0..columns).map(|k| f64::from(x[[i, k]]) * f64::from(x[[j, k]]));
        let (expected, magnitude): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
        let bound = columns as f64 * f64::from(f32::EPSILON) * magnitude;
        // Not `error > bound`: a NaN must not agree.
        let agrees = (f64::from(found) - expected).abs() <= bound;
        if !agrees {
            return Err(format!(
                "c[{i}][{j}] is {found}, expected {expected} (row {i} times row {j} of X), for an X of {rows} × {columns}"
            ));
        }
    }
    Ok(())
}
