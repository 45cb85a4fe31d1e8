//! The product of a vector and a matrix agrees with scalar loops, on every instruction set.

use kernels_cpu::vector_product::{Columns, vector_product};
use kernels_cpu::{InstructionSet, Real};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn check<F: Real>(rows: usize, columns: usize, rng: &mut StdRng) {
    let mut random = |count| -> Vec<F> {
        std::iter::repeat_with(|| F::from(rng.random_range(-1.0..1.0)).unwrap()).take(count).collect()
    };
    let (vector, values) = (random(rows), random(rows * columns));
    let matrix = Columns::new(rows, columns, |row, column| values[row * columns + column]);
    assert_eq!((matrix.rows(), matrix.columns()), (rows, columns));
    let mut fused: Option<Vec<F>> = None;
    for set in InstructionSet::available() {
        let mut sums = vec![F::nan(); columns];
        vector_product(set, &vector, &matrix, &mut sums);
        for (column, &got) in sums.iter().enumerate() {
            let terms = (0..rows).map(|p| vector[p].to_f64().unwrap() * values[p * columns + column].to_f64().unwrap());
            let (got, expected) = (got.to_f64().unwrap(), terms.sum::<f64>());
            let tolerance = F::epsilon().to_f64().unwrap() * (rows as f64).max(1.0);
            assert!((got - expected).abs() <= tolerance, "{} {rows}×{columns}: {got} {expected}", set.name());
        }
        if set != InstructionSet::Portable {
            assert!(fused.as_ref().is_none_or(|fused| *fused == sums), "{} {rows}×{columns}: other bits", set.name());
            fused = Some(sums);
        }
    }
}

#[test]
fn sums_are_those_of_plain_loops_for_odd_sizes() {
    let mut rng = StdRng::seed_from_u64(test_support::seed(1));
    for rows in [0, 1, 7, 15, 16, 17, 31, 100, 199, 784] {
        for columns in (0..=33).chain([64, 101, 128, 199]) {
            check::<f32>(rows, columns, &mut rng);
            check::<f64>(rows, columns, &mut rng);
        }
    }
}

#[test]
fn nan_and_infinity_reach_their_columns_only() {
    for rows in [5, 16, 40] {
        let matrix = Columns::new(rows, 12, |row, column| if (row, column) == (3, 7) { f32::NAN } else { 1.0 });
        let infinite = Columns::new(rows, 12, |row, column| if (row, column) == (2, 1) { f32::INFINITY } else { 1.0 });
        let mut vector = vec![1.0; rows];
        vector[2] = 0.0;
        for set in InstructionSet::available() {
            let mut sums = [0.0; 12];
            vector_product(set, &vector, &matrix, &mut sums);
            let right =
                |(column, sum): (usize, &f32)| if column == 7 { sum.is_nan() } else { *sum == rows as f32 - 1.0 };
            assert!(sums.iter().enumerate().all(right), "{}: {sums:?}", set.name());
            // 0 · ∞ is NaN.
            vector_product(set, &vector, &infinite, &mut sums);
            assert!(sums[1].is_nan() && sums[0] == rows as f32 - 1.0, "{}: {sums:?}", set.name());
        }
    }
}

#[test]
#[should_panic(expected = "one element for each row")]
fn a_vector_of_another_length_panics() {
    vector_product(InstructionSet::Portable, &[1.0_f32; 3], &Columns::new(4, 2, |_, _| 0.0), &mut [0.0; 2]);
}
