//! Every rung of the ladder computes X·Xᵀ for any shape, on the simulator with all its checks.

use cuda_std::LaunchConfig;
use cuda_std::simulator::{self, SimulatorBuffer};
use kernels_gpu::product::*;
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// `count` uniform values in [−1, 1).
fn uniform_values(count: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// Checks one kernel against double precision. The tolerance is the rounding error bound of sums of `columns` products,
/// (`columns` + 2)·ε · Σₚ |x(i, p) · x(j, p)|.
macro_rules! check {
    ($kernel:ident, $element:ty, $rows:expr, $columns:expr, $seed:expr) => {{
        let (rows, columns) = ($rows, $columns);
        let x: Vec<$element> =
            uniform_values(rows * columns, $seed).into_iter().map(|value| value as $element).collect();
        let buffer = SimulatorBuffer::from_slice(&x);
        let mut out = SimulatorBuffer::<$element>::uninitialized(rows * rows);
        let config = LaunchConfig::new(1, THREADS);
        let launched = simulator::launch(&$kernel, config, (&buffer, rows as u32, columns as u32, &mut out));
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
                let bound = (columns + 2) as f64 * f64::from(<$element>::EPSILON) * magnitude;
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
}
