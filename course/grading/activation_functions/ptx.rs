//! The kernels as a GPU would run them: their PTX, by the judge's interpreter and with the judge's launches.

use activation_functions::{activation_gpu, verify};
use grader::of_interpreter;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, call, check, for_any, seed_of_the_tests};

#[test]
fn the_kernels_ptx_is_right() -> Result<(), Failure> {
    let device = of_interpreter()?.ok_or("there is no PTX")?;
    let is_right = |(count, seed)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
        let values: Vec<f32> = (0..count).map(|_| rng.random_range(0..256) as f32).collect();
        let weights: Vec<f32> = (0..count).map(|_| rng.random_range(-2.0..2.0)).collect();
        let results = call(|| activation_gpu(&device, &values, &weights));
        check("activation_gpu, from PTX", results.and_then(|y| verify(&y, &values, &weights)))
    };
    for_any(20, (0..600_usize, 0..1000_u64), is_right)?;
    is_right((2049, 1))
}
