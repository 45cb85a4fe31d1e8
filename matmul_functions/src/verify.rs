//! Verification of a product X·Xᵀ against double precision.

use ndarray::{Array2, ArrayRef2, Zip};

use crate::MatmulElement;

/// Why every element converts to a double.
const WIDENS: &str = "f32 and f64 are no wider than f64";

/// X·Xᵀ in double precision, with a tolerance for each element of a product computed in type `F`.
#[derive(Debug)]
pub struct Reference {
    product: Array2<f64>,
    tolerance: Array2<f64>,
}

impl Reference {
    /// Computes the reference for `x` with ndarray's matrix product in double precision.
    ///
    /// The tolerance is the bound for a sum of n products in any order, γₙ · Σₖ |x(i, k) · x(j, k)|
    /// with γₙ = n·u / (1 − n·u) and u the unit roundoff (Higham, "Accuracy and Stability of
    /// Numerical Algorithms", 2002, section 3.1). It is counted twice: for the type's own rounding
    /// and for the reference's. It holds if no product overflows or underflows in type `F`.
    pub fn of<F: MatmulElement>(x: &ArrayRef2<F>) -> Self {
        let gamma = |unit_roundoff: f64| {
            let error = (x.ncols() as f64 + 1.0) * unit_roundoff;
            error / (1.0 - error)
        };
        let unit_roundoff = F::epsilon().to_f64().expect(WIDENS) / 2.0;
        let x = x.mapv(|value| value.to_f64().expect(WIDENS));
        let magnitudes = x.mapv(f64::abs);
        let tolerance = magnitudes.dot(&magnitudes.t()) * (gamma(unit_roundoff) + gamma(f64::EPSILON / 2.0));
        Self { product: x.dot(&x.t()), tolerance }
    }

    /// Checks every element of a computed product.
    ///
    /// # Errors
    /// The first difference, with its row, its column, the value found and the value expected. Also
    /// a shape mismatch.
    pub fn verify<F: MatmulElement>(&self, product: &ArrayRef2<F>) -> Result<(), String> {
        if product.dim() != self.product.dim() {
            let [(rows, columns), (expected, _)] = [product.dim(), self.product.dim()];
            return Err(format!("the result is {rows} × {columns}, expected {expected} × {expected}"));
        }
        let mut difference = None;
        Zip::indexed(product).and(&self.product).and(&self.tolerance).for_each(
            |(i, j), &got, &expected, &tolerance| {
                let error = (got.to_f64().expect(WIDENS) - expected).abs();
                // Not `error > tolerance`: a NaN must not agree.
                let agrees = error <= tolerance;
                if !agrees && difference.is_none() {
                    difference = Some(format!(
                        "c[{i}][{j}] is {got:?}, expected {expected} (row {i} times row {j} of X), for an X with {} rows",
                        product.nrows()
                    ));
                }
            },
        );
        difference.map_or(Ok(()), Err)
    }
}
