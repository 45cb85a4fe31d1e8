//! The parallel product is symmetric and bit-identical for every number of threads.

use matmul_functions::{MatmulElement, matmul_transpose_rayon};
use ndarray::{Array2, Axis};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::{ThreadPool, ThreadPoolBuilder};

fn normal_matrix<F: MatmulElement>(rows: usize, columns: usize, seed: u64) -> Array2<F>
where
    StandardNormal: Distribution<F>,
{
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Array2::from_shape_simple_fn((rows, columns), || StandardNormal.sample(&mut rng))
}

/// The bits of every element; -0 and 0 compare equal as floats, but have different bits.
fn bits<F: MatmulElement>(matrix: &Array2<F>) -> Vec<(u64, i16, i8)> {
    matrix.iter().map(|value| value.integer_decode()).collect()
}

fn is_symmetric<F: MatmulElement>(product: &Array2<F>) -> bool {
    bits(product) == bits(&product.t().as_standard_layout().into_owned())
}

fn same_on_all<F: MatmulElement>(pools: &[ThreadPool], x: &Array2<F>) -> bool {
    let expected = bits(&pools[0].install(|| matmul_transpose_rayon(x)));
    pools.iter().all(|pool| bits(&pool.install(|| matmul_transpose_rayon(x))) == expected)
}

#[test]
fn part3_product_does_not_depend_on_the_number_of_threads() {
    let pools = [1, 2, 3, 8].map(pool);
    let shapes = (1..300_usize, prop_oneof![0..60_usize, 250..600_usize]);
    proptest!(ProptestConfig::with_cases(24), |((rows, columns) in shapes, seed: u64)| {
        prop_assert!(same_on_all(&pools, &normal_matrix::<f32>(rows, columns, seed)), "f32");
        prop_assert!(same_on_all(&pools, &normal_matrix::<f64>(rows, columns, seed)), "f64");
    });
}

/// Each sum in ascending k, on and below the diagonal, with one rounding per step (two without a
/// fused multiply-add).
fn ascending_sums<F: MatmulElement>(x: &Array2<F>) -> Array2<F> {
    let fused = kernels_cpu::InstructionSet::detect() != kernels_cpu::InstructionSet::Portable;
    Array2::from_shape_fn((x.nrows(), x.nrows()), |(i, j)| {
        let terms = x.row(i).into_iter().zip(x.row(j)).filter(|_| i >= j);
        terms.fold(F::zero(), |sum, (&a, &b)| if fused { a.mul_add(b, sum) } else { a * b + sum })
    })
}

fn is_one_ascending_sum<F: MatmulElement>(pools: &[ThreadPool], x: &Array2<F>) -> bool {
    let expected = ascending_sums(x);
    pools.iter().all(|pool| {
        pool.install(|| matmul_transpose_rayon(x)).indexed_iter().all(|((i, j), got)| {
            let expected = expected[[i.max(j), i.min(j)]];
            (got.is_nan() && expected.is_nan()) || got.integer_decode() == expected.integer_decode()
        })
    })
}

/// Standard normal values, then the same with some NaNs, infinities and subnormals.
fn are_ascending_sums(pools: &[ThreadPool], rows: usize, columns: usize) -> bool {
    let (mut single, mut double) = (normal_matrix::<f32>(rows, columns, 3), normal_matrix::<f64>(rows, columns, 4));
    let normal = is_one_ascending_sum(pools, &single) && is_one_ascending_sum(pools, &double);
    let special = [f32::MIN_POSITIVE / 8.0, f32::NAN, f32::NEG_INFINITY, f32::MAX, -0.0, 1e-30];
    for (i, value) in special.into_iter().enumerate() {
        let index = (i * 5 % rows, i * 97 % columns);
        (single[index], double[index]) = (value, f64::from(value) * f64::MIN_POSITIVE);
    }
    normal && is_one_ascending_sum(pools, &single) && is_one_ascending_sum(pools, &double)
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Sizes near the edges of K-blocks and panels.
#[test]
fn part3_sums_over_several_k_blocks_are_one_sum_in_ascending_order() {
    let shapes = [(1, 255), (33, 256), (35, 257), (17, 511), (16, 512), (70, 513), (131, 900), (3, 2000)];
    for (rows, columns) in shapes {
        assert!(are_ascending_sums(&[pool(2)], rows, columns), "{rows} × {columns}");
    }
}

/// Sizes near the edges of stripes (their length depends on the threads) and of the groups of columns.
#[test]
fn part3_sums_of_several_stripes_are_one_sum_in_ascending_order() {
    let pools = [1, 2, 3, 8].map(pool);
    for (rows, columns) in [(255, 257), (256, 30), (257, 300), (289, 257), (530, 260)] {
        assert!(are_ascending_sums(&pools, rows, columns), "{rows} × {columns}");
    }
}

/// Whether the products of some rows of `x` with each other are the same as in the product of all of `x`.
fn rows_have_the_same_products<F: MatmulElement>(x: &Array2<F>, rows: &[usize]) -> bool {
    let all = matmul_transpose_rayon(x);
    let some = matmul_transpose_rayon(&x.select(Axis(0), rows));
    some.indexed_iter().all(|((i, j), sum)| sum.integer_decode() == all[[rows[i], rows[j]]].integer_decode())
}

/// X of more than 48 MiB, which is computed in another order: groups have more columns, and the
/// next panel is prefetched. The rows include the edges of the groups of columns, 1024 in f32 and
/// 512 in f64.
#[test]
fn part3_products_of_an_out_of_cache_matrix_equal_those_of_a_few_of_its_rows() {
    let rows = [0, 1, 31, 32, 255, 256, 511, 512, 767, 1023, 1024, 1058];
    pool(2).install(|| {
        assert!(rows_have_the_same_products(&normal_matrix::<f32>(1059, 12_001, 5), &rows), "f32");
        assert!(rows_have_the_same_products(&normal_matrix::<f64>(1059, 6001, 6), &rows), "f64");
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn part3_product_is_symmetric(rows in 1..200_usize, columns in 0..60_usize, seed: u64) {
        prop_assert!(is_symmetric(&matmul_transpose_rayon(&normal_matrix::<f32>(rows, columns, seed))), "f32");
        prop_assert!(is_symmetric(&matmul_transpose_rayon(&normal_matrix::<f64>(rows, columns, seed))), "f64");
    }
}
