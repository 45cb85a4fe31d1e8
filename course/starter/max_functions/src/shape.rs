//! Given: the error for matrices of different shapes, and the check of a result.

use ndarray::{Array2, ArrayRef2};

/// The two matrices have different shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the maximum of a {} × {} and a {} × {} matrix: the shapes must be the same", a.0, a.1, b.0, b.1)]
pub struct ShapeMismatch {
    /// Rows and columns of the first matrix.
    pub a: (usize, usize),
    /// Rows and columns of the second matrix.
    pub b: (usize, usize),
}

impl ShapeMismatch {
    /// Checks that the shapes are equal: `ShapeMismatch::check(a.dim(), b.dim())?`.
    pub fn check(a: (usize, usize), b: (usize, usize)) -> Result<(), Self> {
        if a == b { Ok(()) } else { Err(Self { a, b }) }
    }
}

/// Checks every element of a result; the error names the first wrong one.
pub fn verify(c: &Array2<i32>, a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<(), String> {
    if c.dim() != a.dim() {
        let [(rows, columns), (expected_rows, expected_columns)] = [c.dim(), a.dim()];
        return Err(format!("the result is {rows} × {columns}, expected {expected_rows} × {expected_columns}"));
    }
    for (((row, column), &found), (&a, &b)) in c.indexed_iter().zip(a.iter().zip(b)) {
        let expected = a.max(b);
        if found != expected {
            let (rows, columns) = c.dim();
            return Err(format!(
                "c[{row}][{column}] is {found}, expected {expected} (a = {a}, b = {b}), for a {rows} × {columns} matrix"
            ));
        }
    }
    Ok(())
}
