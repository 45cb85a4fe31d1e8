//! The parallel product is symmetric and the same for every number of threads, to the last bit.

use matmul_functions::{Element, matmul_transpose_rayon};
use ndarray::Array2;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::{ThreadPool, ThreadPoolBuilder};

fn normal_matrix<F: Element>(rows: usize, columns: usize, seed: u64) -> Array2<F>
where
    StandardNormal: Distribution<F>,
{
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array2::from_shape_simple_fn((rows, columns), || StandardNormal.sample(&mut rng))
}

/// The bits of every element; -0 and 0 are equal as numbers, but not as bits.
fn bits<F: Element>(matrix: &Array2<F>) -> Vec<(u64, i16, i8)> {
    matrix.iter().map(|value| value.integer_decode()).collect()
}

fn is_symmetric<F: Element>(product: &Array2<F>) -> bool {
    bits(product) == bits(&product.t().as_standard_layout().into_owned())
}

fn same_on_all<F: Element>(pools: &[ThreadPool], x: &Array2<F>) -> bool {
    let expected = bits(&pools[0].install(|| matmul_transpose_rayon(x)));
    pools.iter().all(|pool| bits(&pool.install(|| matmul_transpose_rayon(x))) == expected)
}

#[test]
fn part3_product_does_not_depend_on_the_number_of_threads() {
    let pools = [1, 2, 3, 8].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    let shapes = (1..300_usize, prop_oneof![0..60_usize, 250..600_usize]);
    proptest!(ProptestConfig::with_cases(24), |((rows, columns) in shapes, seed: u64)| {
        prop_assert!(same_on_all(&pools, &normal_matrix::<f32>(rows, columns, seed)), "f32");
        prop_assert!(same_on_all(&pools, &normal_matrix::<f64>(rows, columns, seed)), "f64");
    });
}

/// Sums that run through several blocks of k, at the blocks' edges, have the bits of one sum in ascending k, NaN,
/// infinities and subnormal numbers among them; with one rounding a step, or two where there is no fused multiply-add.
fn is_one_ascending_sum<F: Element>(x: &Array2<F>) -> bool {
    let product = matmul_transpose_rayon(x);
    let fused = kernels_cpu::InstructionSet::detect() != kernels_cpu::InstructionSet::Portable;
    product.indexed_iter().all(|((i, j), got)| {
        let (left, right) = if i >= j { (i, j) } else { (j, i) };
        let expected =
            x.row(left).iter().zip(x.row(right)).fold(F::zero(), |sum, (&left, &right)| {
                if fused { left.mul_add(right, sum) } else { left * right + sum }
            });
        (got.is_nan() && expected.is_nan()) || got.integer_decode() == expected.integer_decode()
    })
}

#[test]
fn part3_sums_through_several_blocks_are_one_sum_in_ascending_order() {
    for (rows, columns) in [(1, 255), (33, 256), (35, 257), (17, 511), (70, 513), (131, 900), (3, 2000)] {
        let (mut single, mut double) = (normal_matrix::<f32>(rows, columns, 3), normal_matrix::<f64>(rows, columns, 4));
        assert!(is_one_ascending_sum(&single) && is_one_ascending_sum(&double), "{rows} × {columns}");
        let special = [f32::MIN_POSITIVE / 8.0, f32::NAN, f32::NEG_INFINITY, f32::MAX, -0.0, 1e-30];
        for (place, value) in special.into_iter().enumerate() {
            let place = (place * 5 % rows, place * 97 % columns);
            (single[place], double[place]) = (value, f64::from(value) * f64::MIN_POSITIVE);
        }
        assert!(is_one_ascending_sum(&single) && is_one_ascending_sum(&double), "{rows} × {columns}, special values");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn part3_product_is_symmetric(rows in 1..200_usize, columns in 0..60_usize, seed: u64) {
        prop_assert!(is_symmetric(&matmul_transpose_rayon(&normal_matrix::<f32>(rows, columns, seed))), "f32");
        prop_assert!(is_symmetric(&matmul_transpose_rayon(&normal_matrix::<f64>(rows, columns, seed))), "f64");
    }
}
