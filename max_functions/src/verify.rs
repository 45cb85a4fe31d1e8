use ndarray::ArrayRef2;

/// Checks that `maximum` is the element-wise maximum of `a` and `b`, element by element.
///
/// # Errors
/// The first difference, with its row, its column, the value found and the value expected; or a shape mismatch.
pub fn verify(maximum: &ArrayRef2<i32>, a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<(), String> {
    if maximum.dim() != a.dim() {
        return Err(format!("shape {:?} instead of {:?}", maximum.shape(), a.shape()));
    }
    for ((index, &got), (&a, &b)) in maximum.indexed_iter().zip(a.iter().zip(b)) {
        let expected = a.max(b);
        if got != expected {
            return Err(format!("row {}, column {}: {got} instead of {expected}", index.0, index.1));
        }
    }
    Ok(())
}
