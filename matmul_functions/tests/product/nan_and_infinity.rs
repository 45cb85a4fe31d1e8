//! A NaN or an infinity in row r of X propagates to row r and column r of the product, and to no other cell.

use matmul_functions::{MatmulElement, matmul_transpose_rayon, matmul_transpose_trivial};
use ndarray::{Array2, ArrayRef2};
use proptest::prelude::*;

/// A matrix of small nonzero integers, with alternating signs along each column, and `value` at `index`.
fn planted<F: MatmulElement>(rows: usize, columns: usize, index: (usize, usize), value: F) -> Array2<F> {
    let mut x = Array2::from_shape_fn((rows, columns), |(i, k)| {
        let magnitude = F::from(1 + (i + 3 * k) % 5).unwrap();
        if i % 2 == 0 { magnitude } else { -magnitude }
    });
    x[index] = value;
    x
}

fn nan_spreads<F: MatmulElement>(product: &ArrayRef2<F>, row: usize) -> bool {
    product.indexed_iter().all(|((i, j), value)| value.is_nan() == (i == row || j == row))
}

/// Infinity times x(j, k) has the sign of x(j, k); the diagonal is infinity squared.
fn infinity_spreads<F: MatmulElement>(x: &ArrayRef2<F>, product: &ArrayRef2<F>, (row, column): (usize, usize)) -> bool {
    product.indexed_iter().all(|((i, j), &value)| {
        if i != row && j != row {
            return value.is_finite();
        }
        value == x[[i, column]] * x[[j, column]] && value.is_infinite()
    })
}

fn both_spread<F: MatmulElement>(rows: usize, columns: usize, index: (usize, usize)) -> Result<(), TestCaseError> {
    let x = planted(rows, columns, index, F::nan());
    prop_assert!(nan_spreads(&matmul_transpose_trivial(&x), index.0), "NaN, trivial");
    prop_assert!(nan_spreads(&matmul_transpose_rayon(&x), index.0), "NaN, rayon");
    for value in [F::infinity(), F::neg_infinity()] {
        let x = planted(rows, columns, index, value);
        prop_assert!(infinity_spreads(&x, &matmul_transpose_trivial(&x), index), "{value}, trivial");
        prop_assert!(infinity_spreads(&x, &matmul_transpose_rayon(&x), index), "{value}, rayon");
    }
    Ok(())
}

/// Rows and columns of a matrix, and the index of an element.
fn shape_and_index() -> impl Strategy<Value = (usize, usize, (usize, usize))> {
    (1..100_usize, 1..20_usize).prop_flat_map(|(rows, columns)| (Just(rows), Just(columns), (0..rows, 0..columns)))
}

proptest! {
    #[test]
    fn part3_nan_and_infinity_reach_their_row_and_column_only((rows, columns, index) in shape_and_index()) {
        both_spread::<f32>(rows, columns, index)?;
        both_spread::<f64>(rows, columns, index)?;
    }
}
