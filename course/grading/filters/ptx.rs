//! The kernel as a GPU would run it: its PTX, by the judge's interpreter and with the judge's launch.

use filters::{correlation_gpu, verify};
use grader::of_interpreter;
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, call, check, for_any, seed_of_the_tests};

#[test]
fn correlation_kernels_ptx_is_right() -> Result<(), Failure> {
    let device = of_interpreter()?.ok_or("there is no PTX")?;
    let is_right = |((kernel_rows, kernel_columns), (rows, columns), seed)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
        let mut matrix = |shape| Array2::from_shape_simple_fn(shape, || rng.random_range(-1.0_f32..1.0));
        let (kernel, image) = (matrix((kernel_rows, kernel_columns)), matrix((rows, columns)));
        let result = call(|| correlation_gpu(&device, &kernel, &image));
        check("correlation_gpu, from PTX", result.and_then(|result| verify(&result, &kernel, &image)))
    };
    for_any(20, ((1..8_usize, 1..8_usize), (0..20_usize, 0..20_usize), 0..1000_u64), is_right)?;
    is_right(((5, 3), (1, 1000), 1))
}
