//! Given: the check of a result, in double precision.

use ndarray::{Array2, ArrayRef2};

/// The sum of a pixel's terms in double precision, and of their absolute values.
fn exact(kernel: &ArrayRef2<f32>, image: &ArrayRef2<f32>, (i, j): (usize, usize)) -> (f64, f64) {
    let (kernel_rows, kernel_columns) = kernel.dim();
    let terms = kernel.indexed_iter().map(|((u, v), &coefficient)| {
        let place = [(i + u).wrapping_sub(kernel_rows / 2), (j + v).wrapping_sub(kernel_columns / 2)];
        f64::from(coefficient) * f64::from(image.get(place).copied().unwrap_or(0.0))
    });
    terms.fold((0.0, 0.0), |(sum, absolute), term| (sum + term, absolute + term.abs()))
}

fn shape(result: &Array2<f32>, image: &ArrayRef2<f32>) -> Result<(), String> {
    let ([rows, columns], (expected_rows, expected_columns)) = ([result.nrows(), result.ncols()], image.dim());
    match (rows, columns) == (expected_rows, expected_columns) {
        true => Ok(()),
        false => Err(format!("the result is {rows} × {columns}, expected {expected_rows} × {expected_columns}")),
    }
}

/// Compares one element of a result.
fn compare(
    (i, j): (usize, usize),
    found: f32,
    expected: f64,
    bound: f64,
    [kernel, image]: [&ArrayRef2<f32>; 2],
) -> Result<(), String> {
    let error = (f64::from(found) - expected).abs();
    // A NaN is not within any bound.
    if error <= bound {
        return Ok(());
    }
    let ((kernel_rows, kernel_columns), (rows, columns)) = (kernel.dim(), image.dim());
    Err(format!(
        "out[{i}][{j}] is {found}, expected {}, for a {kernel_rows} × {kernel_columns} kernel and a {rows} × {columns} image",
        expected as f32
    ))
}

/// Checks every element of a correlation: for n coefficients, it may differ by n · ε of the sum of the terms' absolute values. The error
/// names the first wrong one.
pub fn verify(result: &Array2<f32>, kernel: &ArrayRef2<f32>, image: &ArrayRef2<f32>) -> Result<(), String> {
    shape(result, image)?;
    result.indexed_iter().try_for_each(|(place, &found)| {
        let (sum, absolute) = exact(kernel, image, place);
        let bound = kernel.len() as f64 * f64::from(f32::EPSILON) * absolute;
        compare(place, found, sum, bound, [kernel, image])
    })
}

/// Checks every element of the edges by a filter, as [`verify`].
pub fn verify_edges(result: &Array2<f32>, filter: &ArrayRef2<f32>, image: &ArrayRef2<f32>) -> Result<(), String> {
    shape(result, image)?;
    result.indexed_iter().try_for_each(|(place, &found)| {
        let [(x, of_x), (y, of_y)] = [exact(filter, image, place), exact(&filter.t(), image, place)];
        let bound = (filter.len() + 4) as f64 * f64::from(f32::EPSILON) * (of_x + of_y);
        compare(place, found, x.hypot(y), bound, [filter, image])
    })
}
