//! Both versions compute the element-wise maximum of matrices of any shape and memory layout.

use max_functions::{ShapeMismatch, max_cpu, max_rayon, verify};
use ndarray::{Array2, ArrayRef2, array, s};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use teaching_tests::{Failure, check, for_any};

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

fn any_layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColumnMajor), Just(Layout::EveryOther), Just(Layout::Reversed),]
}

fn both_are_right((rows, columns, layouts, seed): (usize, usize, (Layout, Layout), u64)) -> Result<(), Failure> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let a = random_matrix(rows, columns, layouts.0, &mut rng);
    let b = random_matrix(rows, columns, layouts.1, &mut rng);
    both_agree(&a, &b)
}

fn both_agree(a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<(), Failure> {
    check("max_cpu", max_cpu(a, b).map_err(|error| error.to_string()).and_then(|c| verify(&c, a, b)))?;
    check("max_rayon", max_rayon(a, b).map_err(|error| error.to_string()).and_then(|c| verify(&c, a, b)))
}

#[test]
fn part2_maximum_of_small_matrices() -> Result<(), Failure> {
    let layouts = (any_layout(), any_layout());
    for_any(256, (0..20_usize, 0..70_usize, layouts, any::<u64>()), both_are_right)
}

/// Up to three tasks of 32 · 1024 elements; the last one has any length.
#[test]
fn part2_maximum_of_matrices_that_take_several_tasks() -> Result<(), Failure> {
    let layouts = (any_layout(), any_layout());
    for_any(24, (150..300_usize, 200..300_usize, layouts, any::<u64>()), both_are_right)
}

#[test]
fn part2_maximum_at_the_edges_of_a_task() -> Result<(), Failure> {
    let layouts = (Layout::RowMajor, Layout::RowMajor);
    for elements in [32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1] {
        both_are_right((1, elements, layouts, 5))?;
        both_are_right((elements, 1, layouts, 6))?;
    }
    Ok(())
}

#[test]
fn part2_maximum_of_the_smallest_and_the_largest_integer() -> Result<(), Failure> {
    let (low, high) = (array![[i32::MIN, i32::MIN]], array![[i32::MAX, i32::MIN]]);
    both_agree(&low, &high)?;
    both_agree(&high, &low)
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
