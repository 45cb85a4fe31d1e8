//! Both versions compute the element-wise maximum of matrices of any shape and memory layout.

use max_functions::{ShapeMismatch, max_cpu, max_rayon};
use ndarray::{Array2, ArrayRef2, array, s};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

/// Memory layout of a matrix.
#[derive(Clone, Copy, Debug)]
enum Layout {
    RowMajor,
    ColumnMajor,
    EveryOther,
    Reversed,
}

/// A random matrix of integers from the whole range, including its ends.
fn random_matrix(rows: usize, columns: usize, layout: Layout, rng: &mut impl Rng) -> Array2<i32> {
    let mut matrix = |rows, columns| {
        Array2::from_shape_simple_fn((rows, columns), || match rng.random_range(0..8) {
            0 => i32::MIN,
            1 => i32::MAX,
            2 => rng.random_range(-1..=1),
            _ => rng.random(),
        })
    };
    match layout {
        Layout::RowMajor => matrix(rows, columns),
        Layout::ColumnMajor => matrix(columns, rows).reversed_axes(),
        Layout::EveryOther => matrix(2 * rows, 3 * columns).slice_move(s![..;2, ..;3]),
        Layout::Reversed => matrix(rows, columns).slice_move(s![..;-1, ..;-1]),
    }
}

fn oracle(a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Array2<i32> {
    Array2::from_shape_fn(a.dim(), |index| std::cmp::max(a[index], b[index]))
}

fn any_layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColumnMajor), Just(Layout::EveryOther), Just(Layout::Reversed),]
}

fn both_agree(rows: usize, columns: usize, layouts: (Layout, Layout), seed: u64) -> Result<(), TestCaseError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let a = random_matrix(rows, columns, layouts.0, &mut rng);
    let b = random_matrix(rows, columns, layouts.1, &mut rng);
    let expected = oracle(&a, &b);
    prop_assert!(max_cpu(&a, &b) == Ok(expected.clone()), "max_cpu");
    prop_assert!(max_rayon(&a, &b) == Ok(expected), "max_rayon");
    Ok(())
}

proptest! {
    #[test]
    fn part2_maximum_of_small_matrices(
        rows in 0..20_usize, columns in 0..70_usize, layouts in (any_layout(), any_layout()), seed: u64,
    ) {
        both_agree(rows, columns, layouts, seed)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Up to three tasks of 32 · 1024 elements, the last of any length.
    #[test]
    fn part2_maximum_of_matrices_that_take_several_tasks(
        rows in 150..300_usize, columns in 200..300_usize, layouts in (any_layout(), any_layout()), seed: u64,
    ) {
        both_agree(rows, columns, layouts, seed)?;
    }
}

#[test]
fn part2_maximum_at_the_edges_of_a_task() {
    let layouts = (Layout::RowMajor, Layout::RowMajor);
    for elements in [32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1] {
        both_agree(1, elements, layouts, 5).unwrap();
        both_agree(elements, 1, layouts, 6).unwrap();
    }
}

#[test]
fn part2_maximum_of_the_smallest_and_the_largest_integer() {
    let (low, high) = (array![[i32::MIN, i32::MIN]], array![[i32::MAX, i32::MIN]]);
    assert_eq!(max_cpu(&low, &high).unwrap(), high);
    assert_eq!(max_rayon(&low, &high).unwrap(), high);
    assert_eq!(max_rayon(&high, &low).unwrap(), high);
}

#[test]
fn part2_maximum_of_empty_matrices_keeps_the_shape() {
    for shape in [(0, 0), (0, 5), (5, 0)] {
        let empty = Array2::zeros(shape);
        assert_eq!(max_cpu(&empty, &empty).unwrap().dim(), shape);
        assert_eq!(max_rayon(&empty, &empty).unwrap().dim(), shape);
    }
}

#[test]
fn part2_maximum_rejects_different_shapes() {
    let (a, b) = (Array2::zeros((2, 3)), Array2::zeros((3, 2)));
    let error = ShapeMismatch { a: (2, 3), b: (3, 2) };
    assert_eq!(max_cpu(&a, &b), Err(error));
    assert_eq!(max_rayon(&a, &b), Err(error));
    assert_eq!(error.to_string(), "element-wise maximum of a 2 × 3 and a 3 × 2 matrix: the shapes must be the same");
    // No broadcasting, unlike NumPy.
    assert!(max_cpu(&a, &Array2::zeros((1, 3))).is_err());
    assert!(max_rayon(&a, &Array2::zeros((2, 1))).is_err());
}
