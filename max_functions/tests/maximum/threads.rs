//! The parallel maximum is the same for every number of threads.

use max_functions::{max_cpu, max_rayon};
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::ThreadPoolBuilder;

#[test]
fn part2_maximum_does_not_depend_on_the_number_of_threads() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    // Within every thread's L2, beyond that of one thread, beyond that of each of eight, and newly mapped memory.
    for shape in [(33, 50), (331, 503), (701, 801), (1501, 1201), (3001, 2803)] {
        let mut random_matrix = || Array2::from_shape_simple_fn(shape, || rng.random::<i32>());
        let (a, b) = (random_matrix(), random_matrix());
        let expected = max_cpu(&a, &b);
        for threads in [1, 2, 3, 8] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| max_rayon(&a, &b)) == expected, "{threads} threads, {shape:?}");
        }
    }
}
