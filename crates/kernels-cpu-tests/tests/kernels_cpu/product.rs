//! The matrix product has the bits of its definition, a sum in ascending p, on every instruction set.

#[cfg(all(windows, target_env = "gnu"))]
use cuda_launch as _;
use std::ops::Range;
use std::panic::{UnwindSafe, catch_unwind};

use kernels_cpu::product::{PaddedMatrix, Sink, product, product_of_panels, product_of_transpose};
use kernels_cpu::transpose::transpose;
use kernels_cpu::{InstructionSet, Real, Simd};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// A matrix as a list of rows.
type Matrix<F> = Vec<Vec<F>>;

fn random_matrix<F: Real>(rows: usize, columns: usize, rng: &mut ChaCha8Rng) -> Matrix<F> {
    let mut value = || F::from(rng.random_range(-1.0..1.0_f64)).unwrap();
    (0..rows).map(|_| (0..columns).map(|_| value()).collect()).collect()
}

fn rows_of<F>(matrix: &Matrix<F>) -> Vec<&[F]> {
    matrix.iter().map(Vec::as_slice).collect()
}

/// The padded matrix with the given rows and `padding` in its padding.
fn padded<F: Real>(rows: &Matrix<F>, columns: usize, padding: F) -> PaddedMatrix<F> {
    let mut matrix = PaddedMatrix::zeros(rows.len(), columns);
    matrix.padded_mut().fill(padding);
    for (row, values) in rows.iter().enumerate() {
        matrix.row_mut(row).copy_from_slice(values);
    }
    matrix
}

/// The bits of a float: −0 differs from 0, and a difference in the last place counts.
fn bits<F: Real>(value: F) -> (u64, i16, i8) {
    value.integer_decode()
}

/// Σₚ left(p) · right(p) in ascending p: one rounding per step if the set has a fused multiply-add,
/// otherwise two.
fn sum<F: Real>(set: InstructionSet, left: impl Iterator<Item = F>, right: impl Iterator<Item = F>) -> F {
    left.zip(right).fold(F::zero(), |sum, (left, right)| match set {
        InstructionSet::Portable => left * right + sum,
        _ => left.mul_add(right, sum),
    })
}

/// Stores the sums of the columns below `columns` and counts how often each cell is written.
struct Cells<'a, F> {
    sums: &'a mut Matrix<F>,
    taken: &'a mut Matrix<usize>,
    columns: usize,
}

impl<F: Real> Sink<F> for Cells<'_, F> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let sums = F::as_elements::<S>(sums);
        for (column, &sum) in (column..).zip(sums).filter(|&(column, _)| column < self.columns) {
            self.sums[row][column] = sum;
            self.taken[row][column] += 1;
        }
    }
}

/// The sums that `multiply` passes to a sink for a `rows` × `columns` matrix, and how often each
/// was passed.
fn collect<F: Real>(rows: usize, columns: usize, multiply: impl FnOnce(Cells<F>)) -> (Matrix<F>, Matrix<usize>) {
    let mut sums = vec![vec![F::zero(); columns]; rows];
    let mut taken = vec![vec![0; columns]; rows];
    multiply(Cells { sums: &mut sums, taken: &mut taken, columns });
    (sums, taken)
}

/// The sizes of a product: *rows* × *depth* times *depth* × *columns*.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    rows: usize,
    depth: usize,
    columns: usize,
}

fn any_sizes() -> impl Strategy<Value = Sizes> {
    (0..20_usize, 0..40_usize, 1..70_usize).prop_map(|(rows, depth, columns)| Sizes { rows, depth, columns })
}

/// Checks that exactly the cells at `rows` and `columns` were written, once each, with the sums in
/// `expected`.
fn agree<F: Real>(
    set: InstructionSet,
    (sums, taken): &(Matrix<F>, Matrix<usize>),
    (rows, columns): (&Range<usize>, &Range<usize>),
    expected: impl Fn(usize, usize) -> F,
) -> Result<(), TestCaseError> {
    for (i, taken) in taken.iter().enumerate() {
        for (j, &taken) in taken.iter().enumerate() {
            let inside = rows.contains(&i) && columns.contains(&j);
            prop_assert_eq!(taken, usize::from(inside), "row {}, column {} on {}", i, j, set.name());
            if inside {
                let (got, expected) = (sums[i][j], expected(i, j));
                prop_assert!(
                    bits(got) == bits(expected),
                    "row {i}, column {j} on {}: {got:?} instead of {expected:?}",
                    set.name()
                );
            }
        }
    }
    Ok(())
}

/// Checks `product` against its definition on all instruction sets, for the columns between two
/// fractions `lines` of the padded columns.
fn product_is_right<F: Real>(sizes: Sizes, lines: (f64, f64), seed: u64) -> Result<(), TestCaseError> {
    let Sizes { rows, depth, columns } = sizes;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (left, right) = (random_matrix::<F>(rows, depth, &mut rng), random_matrix::<F>(depth, columns, &mut rng));
    // A sink that ignores the padding is not affected by NaN in it.
    let packed = padded(&right, columns, F::nan());
    let line = |fraction: f64| (fraction * (packed.stride() / F::LINE) as f64).round() as usize * F::LINE;
    let range = line(lines.0.min(lines.1))..line(lines.0.max(lines.1));
    for set in InstructionSet::available() {
        let found = collect(rows, columns, |sink| product(set, &rows_of(&left), &packed, range.clone(), sink));
        agree(set, &found, (&(0..rows), &range), |i, j| {
            sum(set, left[i].iter().copied(), right.iter().map(|right| right[j]))
        })?;
    }
    Ok(())
}

/// Checks `product_of_transpose` against its definition on all instruction sets, for the rows
/// between two fractions `range`. The right matrix has `spare` unused rows.
fn product_of_transpose_is_right<F: Real>(
    sizes: Sizes,
    range: (f64, f64),
    spare: usize,
    seed: u64,
) -> Result<(), TestCaseError> {
    let Sizes { rows, depth, columns } = sizes;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let left = random_matrix::<F>(depth, rows, &mut rng);
    let right = random_matrix::<F>(depth + spare, columns, &mut rng);
    let packed = padded(&right, columns, F::nan());
    let row = |fraction: f64| (fraction * rows as f64).round() as usize;
    let range = row(range.0.min(range.1))..row(range.0.max(range.1));
    for set in InstructionSet::available() {
        let found = collect(rows, columns, |sink| {
            product_of_transpose(set, &rows_of(&left), range.clone(), &packed, sink);
        });
        agree(set, &found, (&range, &(0..columns)), |i, j| {
            sum(set, left.iter().map(|left| left[i]), right.iter().map(|right| right[j]))
        })?;
    }
    Ok(())
}

/// Checks `product_of_panels` against its definition on all instruction sets, for panels of `lines`
/// cache lines and the given fraction of the rows.
fn product_of_panels_is_right<F: Real>(lines: usize, depth: usize, rows: f64, seed: u64) -> Result<(), TestCaseError> {
    let width = lines * F::LINE;
    let rows = (rows * width as f64).round() as usize;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let [left, right] = [0, 1].map(|_| random_matrix::<F>(depth, width, &mut rng));
    let [packed_left, packed_right] = [&left, &right].map(|matrix| matrix.concat());
    for set in InstructionSet::available() {
        let found =
            collect(width, width, |sink| product_of_panels(set, &packed_left, rows, &packed_right, width, sink));
        agree(set, &found, (&(0..rows), &(0..width)), |i, j| {
            sum(set, left.iter().map(|left| left[i]), right.iter().map(|right| right[j]))
        })?;
    }
    Ok(())
}

/// The bits of a product of random matrices, and of the same product from the transposed left
/// matrix, on `set`.
fn product_bits<F: Real>(set: InstructionSet, sizes: Sizes, seed: u64) -> [Vec<(u64, i16, i8)>; 2] {
    let Sizes { rows, depth, columns } = sizes;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (left, right) = (random_matrix::<F>(rows, depth, &mut rng), random_matrix::<F>(depth, columns, &mut rng));
    let (left_transposed, right) = (transposed(&left, depth), padded(&right, columns, F::zero()));
    let direct = collect(rows, columns, |sink| product(set, &rows_of(&left), &right, 0..right.stride(), sink));
    let of_transpose = collect(rows, columns, |sink| {
        product_of_transpose(set, &rows_of(&left_transposed), 0..rows, &right, sink);
    });
    [direct, of_transpose].map(|(sums, _)| sums.into_iter().flatten().map(bits).collect())
}

fn transposed<F: Real>(matrix: &Matrix<F>, columns: usize) -> Matrix<F> {
    (0..columns).map(|column| matrix.iter().map(|row| row[column]).collect()).collect()
}

fn transpose_is_right<F: Real>(rows: usize, columns: usize, seed: u64) -> Result<(), TestCaseError> {
    let matrix = random_matrix::<F>(rows, columns, &mut ChaCha8Rng::seed_from_u64(seed));
    let untouched = F::from(7).unwrap();
    for set in InstructionSet::available() {
        let stride = rows + 3;
        let mut found = vec![untouched; columns * stride];
        transpose(set, &rows_of(&matrix), &mut found, stride);
        for (j, column) in found.chunks(stride).enumerate() {
            prop_assert!((0..rows).all(|i| bits(column[i]) == bits(matrix[i][j])), "{}: column {j}", set.name());
            prop_assert!(rows == 0 || column[rows..] == [untouched; 3], "{}: beside column {j}", set.name());
        }
    }

    let mut packed = PaddedMatrix::zeros(if rows == 0 { 0 } else { columns }, rows);
    // In two parts.
    let (split, all) = (rows / 3, rows_of(&matrix));
    packed.copy_transposed(split, &all[split..]);
    packed.copy_transposed(0, &all[..split]);
    for i in 0..packed.rows() {
        prop_assert!(packed.row(i).iter().zip(&matrix).all(|(&value, row)| value == row[i]), "row {i}");
    }
    let written = packed.padded().iter().filter(|&&value| value != F::zero()).count();
    prop_assert!(written <= rows * columns, "the padding was written");
    Ok(())
}

fn padded_matrix_is_whole_lines<F: Real>(rows: usize, columns: usize) -> Result<(), TestCaseError> {
    let mut matrix = PaddedMatrix::<F>::zeros(rows, columns);
    prop_assert_eq!((matrix.rows(), matrix.columns()), (rows, columns));
    prop_assert!(matrix.stride().is_multiple_of(F::LINE) && (columns..=columns + F::LINE).contains(&matrix.stride()));
    prop_assert_eq!(matrix.padded().len(), rows * matrix.stride());
    prop_assert!(matrix.padded().iter().all(|&value| bits(value) == bits(F::zero())));
    for row in 0..rows {
        prop_assert_eq!(matrix.row(row).as_ptr().addr() % 64, 0, "row {} is not at a line's start", row);
        matrix.row_mut(row).fill(F::from(row + 1).unwrap());
    }
    for row in 0..rows {
        let value = F::from(row + 1).unwrap();
        prop_assert_eq!(matrix.row(row), vec![value; columns]);
        let padding = &matrix.padded()[row * matrix.stride()..][columns..matrix.stride()];
        prop_assert!(padding.iter().all(|&value| value == F::zero()), "a row reaches into the padding");
    }
    Ok(())
}

proptest! {
    #[test]
    fn part3_product_is_a_sum_in_ascending_order(
        sizes in any_sizes(), lines in (0.0..1.0_f64, 0.0..1.0_f64), seed: u64,
    ) {
        product_is_right::<f32>(sizes, (0.0, 1.0), seed)?;
        product_is_right::<f64>(sizes, (0.0, 1.0), seed)?;
        product_is_right::<f32>(sizes, lines, seed)?;
        product_is_right::<f64>(sizes, lines, seed)?;
    }

    #[test]
    fn part1_product_of_transpose_is_a_sum_in_ascending_order(
        sizes in any_sizes(), range in (0.0..1.0_f64, 0.0..1.0_f64), spare in 0..3_usize, seed: u64,
    ) {
        product_of_transpose_is_right::<f32>(sizes, (0.0, 1.0), spare, seed)?;
        product_of_transpose_is_right::<f64>(sizes, (0.0, 1.0), spare, seed)?;
        product_of_transpose_is_right::<f32>(sizes, range, spare, seed)?;
        product_of_transpose_is_right::<f64>(sizes, range, spare, seed)?;
    }

    #[test]
    fn part3_product_of_panels_is_a_sum_in_ascending_order(
        lines in 1..4_usize, depth in 0..40_usize, rows in 0.0..1.0_f64, seed: u64,
    ) {
        for rows in [rows, 1.0] {
            product_of_panels_is_right::<f32>(lines, depth, rows, seed)?;
            product_of_panels_is_right::<f64>(lines, depth, rows, seed)?;
        }
    }

    #[test]
    fn part3_product_has_the_same_bits_on_avx2_and_avx512(sizes in any_sizes(), seed: u64) {
        let available: Vec<_> = InstructionSet::available().collect();
        if [InstructionSet::Avx2, InstructionSet::Avx512].iter().all(|set| available.contains(set)) {
            let [avx2, avx512] = [InstructionSet::Avx2, InstructionSet::Avx512];
            prop_assert_eq!(product_bits::<f32>(avx2, sizes, seed), product_bits::<f32>(avx512, sizes, seed));
            prop_assert_eq!(product_bits::<f64>(avx2, sizes, seed), product_bits::<f64>(avx512, sizes, seed));
        }
    }

    #[test]
    fn part1_both_forms_of_the_product_have_the_same_bits(sizes in any_sizes(), seed: u64) {
        for set in InstructionSet::available() {
            let [direct, of_transpose] = product_bits::<f32>(set, sizes, seed);
            prop_assert_eq!(direct, of_transpose, "{}", set.name());
        }
    }

    #[test]
    fn part3_transpose_stores_every_element_once(rows in 0..50_usize, columns in 0..50_usize, seed: u64) {
        transpose_is_right::<f32>(rows, columns, seed)?;
        transpose_is_right::<f64>(rows, columns, seed)?;
    }

    #[test]
    fn part3_padded_matrix_has_rows_of_whole_lines(rows in 0..20_usize, columns in 0..70_usize) {
        padded_matrix_is_whole_lines::<f32>(rows, columns)?;
        padded_matrix_is_whole_lines::<f64>(rows, columns)?;
    }
}

/// A sink that ignores its sums.
struct Ignore;

impl Sink<f32> for Ignore {
    fn take<S: Simd>(&mut self, _simd: S, _row: usize, _column: usize, _sums: &[S::f32s]) {}
}

/// Checks that `body` panics at the check with `words` in its message, and no later: unsafe code
/// follows the checks.
#[track_caller]
fn assert_rejected(words: &str, body: impl FnOnce() + UnwindSafe) {
    let panic = catch_unwind(body).expect_err("it panics");
    let message = panic.downcast_ref::<&str>().expect("the check's message is a literal");
    assert!(message.contains(words), "{message}");
}

#[test]
fn part3_product_panics_at_sizes_that_do_not_fit() {
    let set = InstructionSet::Portable;
    let row: &[f32] = &[1.0; 3];
    let right = || PaddedMatrix::zeros(3, 20);
    product(set, &[row], &right(), 0..32, Ignore);
    assert_rejected("inner sizes differ", || product(set, &[row, &row[..2]], &right(), 0..32, Ignore));
    for columns in [0..20, 8..32, 0..48] {
        assert_rejected("columns are not whole lines", || product(set, &[row], &right(), columns, Ignore));
    }
}

#[test]
fn part3_product_of_panels_panics_at_sizes_that_do_not_fit() {
    let set = InstructionSet::Portable;
    let panel: &[f32] = &[1.0; 3 * 32];
    product_of_panels(set, panel, 32, panel, 32, Ignore);
    assert_rejected("sizes differ", || product_of_panels(set, panel, 33, panel, 32, Ignore));
    assert_rejected("sizes differ", || product_of_panels(set, panel, 1, &panel[32..], 32, Ignore));
    assert_rejected("sizes differ", || product_of_panels(set, &panel[1..], 1, &panel[1..], 32, Ignore));
    assert_rejected("not whole lines", || product_of_panels(set, panel, 1, panel, 24, Ignore));
    assert_rejected("not whole lines", || product_of_panels(set, &[], 0, &[], 0, Ignore));
}

#[test]
fn part1_product_of_transpose_panics_at_sizes_that_do_not_fit() {
    let set = InstructionSet::Portable;
    let row: &[f32] = &[1.0; 5];
    let right = || PaddedMatrix::zeros(2, 20);
    product_of_transpose(set, &[row, row], 1..5, &right(), Ignore);
    assert_rejected("inner sizes differ", || product_of_transpose(set, &[row, row, row], 0..5, &right(), Ignore));
    assert_rejected("too short", || product_of_transpose(set, &[row, &row[..4]], 0..5, &right(), Ignore));
}

#[test]
fn part3_transpose_panics_at_rows_of_different_length() {
    let (set, row): (_, &[f64]) = (InstructionSet::detect(), &[1.0; 5]);
    assert_rejected("rows of different length", || transpose(set, &[row, &row[..4]], &mut [0.0; 20], 2));
    assert_rejected("rows overlap", || transpose(set, &[row, row], &mut [0.0; 20], 1));
    assert_rejected("no room", || transpose(set, &[row, row], &mut [0.0; 9], 2));
    assert_rejected("shapes differ", || PaddedMatrix::zeros(5, 3).copy_transposed(2, &[row, row]));
}
