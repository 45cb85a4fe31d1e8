//! The parallel maximum is the same for every number of threads.

use max_functions::{max_rayon, verify};
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::ThreadPoolBuilder;
use teaching_tests::{Failure, check};

#[test]
fn part2_maximum_does_not_depend_on_the_number_of_threads() -> Result<(), Failure> {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(2));
    // Sizes that fit in every thread's L2, exceed one thread's L2, exceed each of eight threads'
    // L2, and use newly mapped memory.
    for shape in [(33, 50), (331, 503), (701, 801), (1501, 1201), (3001, 2803)] {
        let mut random_matrix = || Array2::from_shape_simple_fn(shape, || rng.random::<i32>());
        let (a, b) = (random_matrix(), random_matrix());
        for threads in [1, 2, 3, 8] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let maximum = pool.install(|| max_rayon(&a, &b)).unwrap();
            check(&format!("max_rayon on {threads} threads"), verify(&maximum, &a, &b))?;
        }
    }
    Ok(())
}
