use ndarray::{Array2, ArrayRef2, Zip};

use crate::pixel::{Pixel, in_f32};

/// Integers up to this value are exact in f32, and so are their sums up to it.
const MAX_EXACT: f64 = (1 << f32::MANTISSA_DIGITS) as f64;

/// The correlation in double precision, which results are verified against.
#[derive(Debug)]
pub struct Reference {
    sums: Array2<f64>,
    /// How much a result may differ from each sum.
    tolerances: Array2<f64>,
    kernel: (usize, usize),
}

impl Reference {
    /// Computes the correlation of `image` with `kernel` by its definition.
    ///
    /// A result may differ by *n* · ε times the sum of the terms' absolute values, for *n*
    /// coefficients. It must be exact if all values are integers that f32 can represent together
    /// with their sums.
    /// values are integers that f32 represents with their sums.
    pub fn of<P: Pixel>(kernel: &ArrayRef2<f32>, image: &ArrayRef2<P>) -> Self {
        in_f32(image, |image| Self::of_f32(kernel, &image))
    }

    fn of_f32(kernel: &ArrayRef2<f32>, image: &ArrayRef2<f32>) -> Self {
        let ((kernel_rows, kernel_columns), (rows, columns)) = (kernel.dim(), image.dim());
        let is_integer = |value: f32| value.fract() == 0.0;
        let are_integers =
            kernel.iter().all(|&value| is_integer(value)) && image.iter().all(|&pixel| is_integer(pixel));
        let (mut sums, mut tolerances) = (Array2::zeros((rows, columns)), Array2::zeros((rows, columns)));
        Zip::indexed(&mut sums).and(&mut tolerances).par_for_each(|(i, j), sum: &mut f64, tolerance: &mut f64| {
            let mut absolute = 0.0;
            for u in 0..kernel_rows {
                for v in 0..kernel_columns {
                    let row = (i + u).wrapping_sub(kernel_rows / 2);
                    let column = (j + v).wrapping_sub(kernel_columns / 2);
                    let pixel = image.get([row, column]).copied().unwrap_or(0.0);
                    let term = f64::from(kernel[[u, v]]) * f64::from(pixel);
                    *sum += term;
                    absolute += term.abs();
                }
            }
            let is_exact = are_integers && absolute <= MAX_EXACT;
            *tolerance = if is_exact { 0.0 } else { kernel.len() as f64 * f64::from(f32::EPSILON) * absolute };
        });
        Self { sums, tolerances, kernel: kernel.dim() }
    }

    /// Checks a result.
    ///
    /// # Errors
    /// The first pixel that differs, with its row and column, the value found and the value
    /// expected. Also a shape mismatch.
    pub fn verify(&self, result: &ArrayRef2<f32>) -> Result<(), String> {
        let (rows, columns) = self.sums.dim();
        if result.dim() != (rows, columns) {
            return Err(format!("the result is {} × {}, expected {rows} × {columns}", result.nrows(), result.ncols()));
        }
        for (((index, &got), &sum), &tolerance) in result.indexed_iter().zip(&self.sums).zip(&self.tolerances) {
            // Equal infinities have no difference, and a non-finite sum has no tolerance.
            let is_right = match sum.is_finite() {
                true => (f64::from(got) - sum).abs() <= tolerance,
                false => f64::from(got) == sum || got.is_nan() && sum.is_nan(),
            };
            if !is_right {
                let ((row, column), (kernel_rows, kernel_columns)) = (index, self.kernel);
                return Err(format!(
                    "out[{row}][{column}] is {got}, expected {}, for a {kernel_rows} × {kernel_columns} kernel \
                     and a {rows} × {columns} image",
                    sum as f32
                ));
            }
        }
        Ok(())
    }
}
