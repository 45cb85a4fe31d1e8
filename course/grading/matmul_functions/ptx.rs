//! The kernel as a GPU would run it: its PTX, by the judge's interpreter and with the judge's launch.

use grader::of_interpreter;
use matmul_functions::matmul_transpose_gpu;
use matmul_functions_judge::verify;
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, call, check, for_any, seed_of_the_tests};

#[test]
fn matmul_kernels_ptx_is_right() -> Result<(), Failure> {
    let device = of_interpreter()?.ok_or("there is no PTX")?;
    let is_right = |(rows, columns, seed)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
        let x = Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0));
        check("matmul_transpose_gpu, from PTX", call(|| matmul_transpose_gpu(&device, &x)).and_then(|c| verify(&c, &x)))
    };
    for_any(20, (0..24_usize, 0..24_usize, 0..1000_u64), is_right)?;
    is_right((70, 3, 1))
}
