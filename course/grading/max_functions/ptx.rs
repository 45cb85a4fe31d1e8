//! The kernel as a GPU would run it: its PTX, by the judge's interpreter and with the judge's launch.

use grader::of_interpreter;
use max_functions::{max_gpu, verify};
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, call, check, for_any, seed_of_the_tests};

#[test]
fn max_kernels_ptx_is_right() -> Result<(), Failure> {
    let device = of_interpreter()?.ok_or("there is no PTX")?;
    let is_right = |(rows, columns, seed)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
        let mut matrix = || Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-5..256));
        let (a, b) = (matrix(), matrix());
        check("max_gpu, from PTX", call(|| max_gpu(&device, &a, &b)).and_then(|c| verify(&c, &a, &b)))
    };
    for_any(20, (0..40_usize, 0..40_usize, 0..1000_u64), is_right)?;
    is_right((1, 2049, 1))
}
