use ndarray::ArrayRef2;

/// Checks that `maximum` is the element-wise maximum of `a` and `b`, element by element.
///
/// # Errors
/// The first difference, with its row and column, the value found, the value expected, and its
/// operands. Also a shape mismatch.
pub fn verify(maximum: &ArrayRef2<i32>, a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<(), String> {
    if maximum.dim() != a.dim() {
        let [(rows, columns), (expected_rows, expected_columns)] = [maximum.dim(), a.dim()];
        return Err(format!("the result is {rows} × {columns}, expected {expected_rows} × {expected_columns}"));
    }
    for ((index, &got), (&a, &b)) in maximum.indexed_iter().zip(a.iter().zip(b)) {
        let expected = a.max(b);
        if got != expected {
            let ((row, column), (rows, columns)) = (index, maximum.dim());
            return Err(format!(
                "c[{row}][{column}] is {got}, expected {expected} (a = {a}, b = {b}), for a {rows} × {columns} matrix"
            ));
        }
    }
    Ok(())
}
