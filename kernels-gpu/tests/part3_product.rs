//! Every rung of the ladder computes X·Xᵀ for any shape, on the simulator with all its checks.

use cuda_std::LaunchConfig;
use cuda_std::simulator::{self, SimulatorBuffer};
use kernels_gpu::product::*;
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// `count` uniform values in [−1, 1).
fn uniform_values(count: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(seed));
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// Checks one launch against double precision. The tolerance is the rounding error bound of sums of `columns` products,
/// (`columns` + 2)·ε · Σₚ |x(i, p) · x(j, p)|.
macro_rules! check {
    ($kernel:ident, $element:ty, $rows:expr, $columns:expr, $seed:expr) => {
        check!($kernel, $element, $rows, $columns, $seed, LaunchConfig::new(1, THREADS),)
    };
    // With the arguments between the columns and the result.
    ($kernel:ident, $element:ty, $rows:expr, $columns:expr, $seed:expr, $config:expr, $($argument:expr)?) => {{
        let (rows, columns) = ($rows, $columns);
        let x: Vec<$element> =
            uniform_values(rows * columns, $seed).into_iter().map(|value| value as $element).collect();
        let buffer = SimulatorBuffer::from_slice(&x);
        let mut out = SimulatorBuffer::<$element>::uninitialized(rows * rows);
        let arguments = (&buffer, rows as u32, columns as u32, $($argument,)? &mut out);
        let launched = simulator::launch(&$kernel, $config, arguments);
        if let Err(error) = launched {
            panic!("{} × {}: {error}", rows, columns);
        }
        let got = out.to_vec();
        assert_eq!(got.len(), rows * rows);
        for i in 0..rows {
            for j in 0..rows {
                let products = (0..columns).map(|p| f64::from(x[i * columns + p]) * f64::from(x[j * columns + p]));
                let (sum, magnitude) =
                    products.fold((0.0, 0.0), |(sum, magnitude), product| (sum + product, magnitude + product.abs()));
                let error = (f64::from(got[i * rows + j]) - sum).abs();
                // Three of the nine products of parts are left out, and tensor cores cut sums off: as two roundings more.
                let roundings = if stringify!($kernel).contains("tensor") { 4 } else { 2 };
                let bound = (columns + roundings) as f64 * f64::from(<$element>::EPSILON) * magnitude;
                assert!(
                    error <= bound,
                    "{} of {} × {}: ({i}, {j}) is {} instead of {sum}",
                    stringify!($kernel),
                    rows,
                    columns,
                    got[i * rows + j]
                );
            }
        }
    }};
}

/// The launch of rung 6 with K-blocks of `depth` columns.
fn resident(rows: usize, depth: u32) -> LaunchConfig {
    LaunchConfig::new(1, THREADS).with_dynamic_shared(16 * depth * resident_stride(rows as u32))
}

fn check_resident(rows: usize, columns: usize, depth: u32, seed: u64) {
    check!(matmul_resident_f32, f32, rows, columns, seed, resident(rows, depth), depth);
}

/// Rung 7 with `blocks` blocks.
fn check_grid(rows: usize, columns: usize, blocks: u32, seed: u64) {
    let config = LaunchConfig::new(blocks, GRID_THREADS).with_dynamic_shared(GRID_SHARED_BYTES);
    check!(matmul_grid_f32, f32, rows, columns, seed, config,);
}

/// Rung 8 with `blocks` blocks.
fn check_tensor(rows: usize, columns: usize, blocks: u32, seed: u64) {
    let config = LaunchConfig::new(blocks, TENSOR_THREADS).with_dynamic_shared(TENSOR_SHARED_BYTES);
    check!(matmul_tensor_f32, f32, rows, columns, seed, config,);
}

/// The launch of rung 9 with K-blocks of `depth` columns.
fn one_block_tensor(rows: usize, depth: u32) -> LaunchConfig {
    LaunchConfig::new(1, THREADS).with_dynamic_shared(depth / TENSOR_DEPTH * one_block_tensor_bytes(rows as u32))
}

fn check_one_block_tensor(rows: usize, columns: usize, depth: u32, seed: u64) {
    check!(matmul_one_block_tensor_f32, f32, rows, columns, seed, one_block_tensor(rows, depth), depth);
}

fn check_all(rows: usize, columns: usize, seed: u64) {
    check!(matmul_naive_f32, f32, rows, columns, seed);
    check!(matmul_naive_f64, f64, rows, columns, seed);
    check!(matmul_symmetric_f32, f32, rows, columns, seed);
    check!(matmul_symmetric_f64, f64, rows, columns, seed);
    check!(matmul_tiles_f32, f32, rows, columns, seed);
    check!(matmul_tiles_f64, f64, rows, columns, seed);
    check!(matmul_registers_f32, f32, rows, columns, seed);
    check!(matmul_registers_f64, f64, rows, columns, seed);
    check!(matmul_kernel_f32, f32, rows, columns, seed);
    check!(matmul_kernel_f64, f64, rows, columns, seed);
    check_resident(rows, columns, 2, seed);
    check_resident(rows, columns, 64, seed);
    check_grid(rows, columns, grid_tiles(rows as u32).max(1), seed);
    check_tensor(rows, columns, grid_tiles(rows as u32).max(1), seed);
    check_one_block_tensor(rows, columns, 16, seed);
    check_one_block_tensor(rows, columns, 48, seed);
}

#[test]
fn part3_products_of_shapes_around_a_tile_are_right() {
    for (rows, columns) in [(1, 1), (31, 17), (32, 16), (33, 15), (127, 9), (128, 8), (129, 33), (5, 0)] {
        check_all(rows, columns, 7);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn part3_products_of_random_shapes_are_right(rows in 1_usize..150, columns in 0_usize..50, seed in any::<u64>()) {
        check_all(rows, columns, seed);
    }
    #[test]
    fn part3_resident_products_with_k_blocks_of_any_depth_are_right(
        rows in 1_usize..150, columns in 0_usize..50, half_depth in 1_u32..30, seed in any::<u64>()
    ) {
        check_resident(rows, columns, 2 * half_depth, seed);
        check_resident(rows.next_multiple_of(4), columns, 2 * half_depth, seed);
    }
}

#[test]
fn part3_products_by_fewer_and_by_more_blocks_than_tiles_are_right() {
    for (rows, columns, blocks) in [(1, 1, 3), (64, 32, 2), (65, 36, 1), (200, 5, 4), (193, 64, 7)] {
        check_grid(rows, columns, blocks, 5);
        check_tensor(rows, columns, blocks, 5);
    }
}

/// Odd and even numbers of sets of rows, with whole and cut ones and tiles beside the diagonal; K-blocks of one step and several, of which
/// the last has fewer.
#[test]
fn part3_products_by_tensor_cores_of_one_block_with_k_blocks_of_any_depth_are_right() {
    for (rows, columns, depth) in [
        (16, 48, 16),
        (48, 40, 32),
        (64, 64, 64),
        (112, 36, 16),
        (128, 33, 32),
        (108, 100, 48),
        (110, 34, 16),
        (100, 37, 16),
        (272, 36, 32),
        (300, 20, 16),
    ] {
        check_one_block_tensor(rows, columns, depth, 8);
    }
}

/// X·Xᵀ by rung 9 with two K-blocks.
fn by_tensor_cores_of_one_block(x: &[f32], rows: usize) -> Vec<f32> {
    let (count, columns, x) = (rows as u32, (x.len() / rows) as u32, SimulatorBuffer::from_slice(x));
    let depth = (columns / 2).next_multiple_of(TENSOR_DEPTH);
    let mut out = SimulatorBuffer::uninitialized(rows * rows);
    let config = one_block_tensor(rows, depth);
    simulator::launch(&matmul_one_block_tensor_f32, config, (&x, count, columns, depth, &mut out)).unwrap();
    out.to_vec()
}

/// X·Xᵀ by rung 8.
fn by_tensor_cores(x: &[f32], rows: usize) -> Vec<f32> {
    let config = LaunchConfig::new(grid_tiles(rows as u32), TENSOR_THREADS).with_dynamic_shared(TENSOR_SHARED_BYTES);
    let (rows, columns, x) = (rows as u32, (x.len() / rows) as u32, SimulatorBuffer::from_slice(x));
    let mut out = SimulatorBuffer::uninitialized((rows * rows) as usize);
    simulator::launch(&matmul_tensor_f32, config, (&x, rows, columns, &mut out)).unwrap();
    out.to_vec()
}

/// Without one of the six products of parts, an error is 2⁻¹⁷ of Σ |x · x| or more.
#[test]
fn part3_products_of_three_bf16_are_as_accurate_as_floats() {
    let (rows, columns) = (70, 130);
    for scale in [1.0, 1e-15, 1e15] {
        let x: Vec<f32> = uniform_values(rows * columns, 4).into_iter().map(|x| (x * scale) as f32).collect();
        let products = [by_tensor_cores(&x, rows), by_tensor_cores_of_one_block(&x, rows)].concat();
        for (cell, &product) in products.iter().enumerate() {
            let cell = cell % (rows * rows);
            let row = |i: usize| x[i * columns..][..columns].iter().map(|&x| f64::from(x));
            let (i, j) = (cell / rows, cell % rows);
            let exact: f64 = row(i).zip(row(j)).map(|(a, b)| a * b).sum();
            let magnitude: f64 = row(i).zip(row(j)).map(|(a, b)| (a * b).abs()).sum();
            let error = (f64::from(product) - exact).abs();
            assert!(error <= 4e-7 * magnitude, "({i}, {j}) of {scale}: {product} instead of {exact}");
        }
    }
}

/// An infinite element has no parts whose sum it is, and the parts' products may be infinite where their sum is not.
#[test]
fn part3_products_of_three_bf16_are_infinite_and_nan_where_those_of_floats_are() {
    let rare = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, f32::MIN_POSITIVE / 8.0, -0.0];
    let (rows, columns) = (50, 9);
    let mut x: Vec<f32> = uniform_values(rows * columns, 6).into_iter().map(|x| x as f32).collect();
    for (i, &value) in rare.iter().enumerate() {
        x[(7 * i + 1) * columns + i] = value;
    }
    let products = [by_tensor_cores(&x, rows), by_tensor_cores_of_one_block(&x, rows)].concat();
    for (cell, &product) in products.iter().enumerate() {
        let cell = cell % (rows * rows);
        let (i, j) = (cell / rows, cell % rows);
        let expected = (0..columns).fold(0.0_f32, |sum, p| x[i * columns + p].mul_add(x[j * columns + p], sum));
        let is_same_class = product.is_nan() && expected.is_nan() || product.is_infinite() && product == expected;
        // Terms may cancel: the error is a share of their absolute values.
        let terms = (0..columns).map(|p| f64::from(x[i * columns + p]) * f64::from(x[j * columns + p]));
        let magnitude: f64 = terms.map(f64::abs).sum();
        let is_near = (f64::from(product) - f64::from(expected)).abs() <= 1e-6 * magnitude.max(10.0);
        assert!(is_same_class || is_near, "({i}, {j}): {product} instead of {expected}");
    }
}

#[test]
fn part3_the_tiles_of_the_last_rung_cover_the_lower_triangle() {
    assert_eq!((grid_tiles(0), grid_tiles(1), grid_tiles(64), grid_tiles(784)), (0, 1, 2, 125));
    for rows in 1..1000_u32 {
        let across = |i: u32| (64 * (i + 1)).min(rows).div_ceil(48);
        assert_eq!(grid_tiles(rows), (0..rows.div_ceil(64)).map(across).sum(), "{rows} rows");
    }
}

/// X·Xᵀ of f64 by tensor cores, in one block or by a grid of `blocks`.
fn by_double_tensor_cores(x: &[f64], [rows, columns]: [usize; 2], blocks: Option<u32>) -> Result<Vec<f64>, String> {
    let mut out = SimulatorBuffer::uninitialized(rows * rows);
    let x = SimulatorBuffer::from_slice(x);
    let arguments = (&x, rows as u32, columns as u32, &mut out);
    let launched = match blocks {
        None => {
            let config = LaunchConfig::new(1, THREADS).with_dynamic_shared(DOUBLE_ONE_BLOCK_BYTES);
            simulator::launch(&matmul_one_block_tensor_f64, config, arguments)
        }
        Some(blocks) => {
            let config = LaunchConfig::new(blocks, DOUBLE_TENSOR_THREADS);
            let config = config.with_dynamic_shared(DOUBLE_TENSOR_SHARED_BYTES);
            simulator::launch(&matmul_tensor_f64, config, arguments)
        }
    };
    let report = launched.map_err(|error| error.to_string())?;
    // Each cell is of one block and one thread.
    assert_eq!((report.same_value_races, report.global_stores), (0, (rows * rows) as u64));
    Ok(out.to_vec())
}

/// Checks both kernels of f64 by tensor cores against the chain of multiply-adds in the order of X's columns: all bits but those of a NaN.
fn check_double_tensor(x: &[f64], [rows, columns]: [usize; 2], blocks: u32) {
    for blocks in [None, Some(blocks)] {
        let products = by_double_tensor_cores(x, [rows, columns], blocks).unwrap();
        assert_eq!(products.len(), rows * rows);
        for (cell, product) in products.into_iter().enumerate() {
            let (i, j) = (cell / rows, cell % rows);
            let chain = (0..columns).fold(0.0_f64, |sum, p| x[i * columns + p].mul_add(x[j * columns + p], sum));
            let is_same = product.to_bits() == chain.to_bits() || product.is_nan() && chain.is_nan();
            assert!(is_same, "{rows} × {columns}, {blocks:?}: ({i}, {j}) is {product:e} instead of {chain:e}");
        }
    }
}

/// One row, no column; around a set of rows, a K-block, the tiles and their squares; more and fewer blocks than tiles.
#[test]
fn part3_products_of_doubles_by_tensor_cores_have_the_bits_of_multiply_adds() {
    for (rows, columns, blocks) in [
        (1, 1, 1),
        (1, 40, 3),
        (5, 0, 1),
        (15, 16, 2),
        (16, 15, 1),
        (17, 17, 1),
        (48, 33, 2),
        (64, 32, 1),
        (65, 7, 5),
        (127, 9, 4),
        (128, 16, 3),
        (129, 33, 2),
        (144, 8, 40),
        (257, 20, 7),
    ] {
        check_double_tensor(&uniform_values(rows * columns, 11), [rows, columns], blocks);
    }
    assert_eq!(by_double_tensor_cores(&[], [0, 0], None), Ok(Vec::new()));
    assert_eq!(by_double_tensor_cores(&[], [0, 9], Some(2)), Ok(Vec::new()));
}

/// Infinities and NaN spread as in multiply-adds; a sum of −0, of products that are too small for a number, stays −0.
#[test]
fn part3_products_of_rare_doubles_by_tensor_cores_have_the_bits_of_multiply_adds() {
    const RARE: [f64; 8] =
        [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, f64::MIN, f64::MIN_POSITIVE / 8.0, -0.0, 1e-200];
    let [rows, columns] = [70, 21];
    let mut x = uniform_values(rows * columns, 12);
    for (i, &value) in RARE.iter().enumerate() {
        x[(8 * i + 1) * columns + 2 * i] = value;
    }
    check_double_tensor(&x, [rows, columns], 2);
    // Each product of two rows is −1e-400, but that of a row by itself.
    let signs: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 1e-200 } else { -1e-200 }).collect();
    check_double_tensor(&signs, [20, 1], 1);
    assert_eq!(by_double_tensor_cores(&signs, [20, 1], None).unwrap()[1].to_bits(), (-0.0_f64).to_bits());
}

#[test]
fn part3_products_of_doubles_by_tensor_cores_reject_too_little_shared_memory() {
    let mut out = SimulatorBuffer::uninitialized(4);
    let x = SimulatorBuffer::from_slice(&uniform_values(2 * 20, 1));
    let config = LaunchConfig::new(1, THREADS).with_dynamic_shared(DOUBLE_ONE_BLOCK_BYTES - 8 * 20);
    let error = simulator::launch(&matmul_one_block_tensor_f64, config, (&x, 2, 20, &mut out)).unwrap_err();
    assert!(error.to_string().contains("is outside of the shared array"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn part3_products_of_doubles_of_random_shapes_have_the_bits_of_multiply_adds(
        rows in 1_usize..150, columns in 0_usize..50, blocks in 1_u32..8, seed in any::<u64>()
    ) {
        check_double_tensor(&uniform_values(rows * columns, seed), [rows, columns], blocks);
    }
}

/// What the kernel would do wrong with another depth or too little shared memory, it does not begin.
#[test]
fn part3_resident_products_reject_a_wrong_depth_and_too_little_shared_memory() {
    let x = SimulatorBuffer::from_slice(&uniform_values(36 * 5, 1).iter().map(|&x| x as f32).collect::<Vec<_>>());
    let mut out = SimulatorBuffer::uninitialized(36 * 36);
    for (config, depth, message) in [
        (resident(36, 8), 0, "the depth must be even and not 0"),
        (resident(36, 8), 3, "the depth must be even and not 0"),
        (resident(36, 5), 6, "is outside of the shared array"),
    ] {
        let error = simulator::launch(&matmul_resident_f32, config, (&x, 36, 5, depth, &mut out)).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn part3_products_by_tensor_cores_of_one_block_reject_a_wrong_depth_and_too_little_shared_memory() {
    let x = SimulatorBuffer::from_slice(&uniform_values(36 * 50, 1).iter().map(|&x| x as f32).collect::<Vec<_>>());
    let mut out = SimulatorBuffer::uninitialized(36 * 36);
    for (config, depth, message) in [
        (one_block_tensor(36, 16), 0, "the depth must be a multiple of 16 and not 0"),
        (one_block_tensor(36, 32), 24, "the depth must be a multiple of 16 and not 0"),
        (one_block_tensor(36, 16), 32, "is outside of the shared array"),
    ] {
        let error = simulator::launch(&matmul_one_block_tensor_f32, config, (&x, 36, 50, depth, &mut out)).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}
