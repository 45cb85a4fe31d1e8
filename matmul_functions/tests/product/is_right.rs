//! Both versions compute X·Xᵀ within the rounding error bound, for any shape and memory layout of X.

use matmul_functions::{MatmulElement, Reference, matmul_transpose_rayon, matmul_transpose_trivial};
use ndarray::{Array2, ArrayRef2, array, s};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use teaching_tests::{Failure, check, for_any};

/// Memory layout of a matrix.
#[derive(Clone, Copy, Debug)]
enum Layout {
    RowMajor,
    ColumnMajor,
    EveryOther,
    Reversed,
}

fn normal_matrix<F: MatmulElement>(rows: usize, columns: usize, layout: Layout, seed: u64) -> Array2<F>
where
    StandardNormal: Distribution<F>,
{
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut matrix = |rows, columns| Array2::from_shape_simple_fn((rows, columns), || StandardNormal.sample(&mut rng));
    match layout {
        Layout::RowMajor => matrix(rows, columns),
        Layout::ColumnMajor => matrix(columns, rows).reversed_axes(),
        Layout::EveryOther => matrix(2 * rows, 3 * columns).slice_move(s![..;2, ..;3]),
        Layout::Reversed => matrix(rows, columns).slice_move(s![..;-1, ..;-1]),
    }
}

/// Finds the first element of `product` that differs too much from X·Xᵀ, computed by three loops in
/// double precision. The limit is the rounding error bound in `F`: n·ε · Σₖ |x(i, k) · x(j, k)| for
/// sums of n products.
fn agrees<F: MatmulElement>(x: &ArrayRef2<F>, product: &ArrayRef2<F>) -> Result<(), String> {
    let double = |value: F| value.to_f64().unwrap();
    let (rows, columns) = x.dim();
    if product.dim() != (rows, rows) {
        let (found_rows, found_columns) = product.dim();
        return Err(format!("the result is {found_rows} × {found_columns}, expected {rows} × {rows}"));
    }
    for i in 0..rows {
        for j in 0..rows {
            let (mut expected, mut magnitude) = (0.0, 0.0);
            for k in 0..columns {
                let term = double(x[[i, k]]) * double(x[[j, k]]);
                expected += term;
                magnitude += term.abs();
            }
            let error = (double(product[[i, j]]) - expected).abs();
            // Not `error > bound`: a NaN must not agree.
            let agrees = error <= columns as f64 * double(F::epsilon()) * magnitude;
            if !agrees {
                let found = product[[i, j]];
                let of = format!("row {i} times row {j} of X), for an X of {rows} × {columns}");
                return Err(format!("c[{i}][{j}] is {found:?}, expected {expected} ({of}"));
            }
        }
    }
    Ok(())
}

/// Checks that both versions agree with the three loops and with the program's [`Reference`].
fn both_are_right<F: MatmulElement>((rows, columns, layout, seed): (usize, usize, Layout, u64)) -> Result<(), Failure>
where
    StandardNormal: Distribution<F>,
{
    let x = normal_matrix::<F>(rows, columns, layout, seed);
    let (trivial, parallel) = (matmul_transpose_trivial(&x), matmul_transpose_rayon(&x));
    check("matmul_transpose_trivial", agrees(&x, &trivial))?;
    check("matmul_transpose_rayon", agrees(&x, &parallel))?;
    let reference = Reference::of(&x);
    check("the reference of matmul_transpose_trivial", reference.verify(&trivial))?;
    check("the reference of matmul_transpose_rayon", reference.verify(&parallel))
}

fn any_layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColumnMajor), Just(Layout::EveryOther), Just(Layout::Reversed),]
}

#[test]
fn part3_product_is_right_in_single_precision() -> Result<(), Failure> {
    for_any(64, (0..140_usize, 0..70_usize, any_layout(), any::<u64>()), both_are_right::<f32>)
}

#[test]
fn part3_product_is_right_in_double_precision() -> Result<(), Failure> {
    for_any(64, (0..140_usize, 0..70_usize, any_layout(), any::<u64>()), both_are_right::<f64>)
}

/// One row, row counts near the sizes of tiles, panels and tasks, and the homework's 784 rows.
#[test]
fn part3_product_is_right_at_the_edges_of_tiles() -> Result<(), Failure> {
    let around_blocks = [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 97];
    let shapes = around_blocks.into_iter().flat_map(|rows| [1, 5, 16, 17].map(|columns| (rows, columns)));
    for (rows, columns) in shapes.chain([(33, 17), (129, 5), (2, 1000), (784, 3)]) {
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            both_are_right::<f32>((rows, columns, layout, 1))?;
            both_are_right::<f64>((rows, columns, layout, 2))?;
        }
    }
    Ok(())
}

#[test]
fn part3_product_of_a_matrix_without_rows_or_columns() {
    for rows in [0, 1, 33] {
        let x = Array2::<f32>::zeros((rows, 0));
        assert_eq!(matmul_transpose_trivial(&x), Array2::zeros((rows, rows)));
        assert_eq!(matmul_transpose_rayon(&x), Array2::zeros((rows, rows)));
    }
    let x = Array2::<f64>::zeros((0, 9));
    assert_eq!(matmul_transpose_trivial(&x).dim(), (0, 0));
    assert_eq!(matmul_transpose_rayon(&x).dim(), (0, 0));
}

#[test]
fn part3_product_of_a_transposed_view() {
    let x = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let expected = array![[17.0, 22.0, 27.0], [22.0, 29.0, 36.0], [27.0, 36.0, 45.0]];
    assert_eq!(matmul_transpose_trivial(&x.t()), expected);
    assert_eq!(matmul_transpose_rayon(&x.t()), expected);
}
