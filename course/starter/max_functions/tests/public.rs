//! The public tests of part 2. `cargo test -p max_functions`

use std::path::Path;

use gpu::{Device, SimulatorOptions};
use max_functions::{max_cpu, max_gpu, max_rayon, verify};
use ndarray::{Array2, array, s};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, call, check, divides_work, for_any, seed_of_the_tests};

fn matrix(rows: usize, columns: usize, seed: u64) -> Array2<i32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
    Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-5..256))
}

/// The simulator; two threads that write one element are a fault, also if they write the same value.
fn simulator() -> Device {
    Device::simulator_with(SimulatorOptions { same_value_races_are_faults: true, ..SimulatorOptions::default() })
}

/// A version: its name, and the function.
type Version = (&'static str, fn(&Array2<i32>, &Array2<i32>) -> Result<Array2<i32>, String>);

const CPU: Version = ("max_cpu", |a, b| call(|| max_cpu(a, b)));
const RAYON: Version = ("max_rayon", |a, b| call(|| max_rayon(a, b)));
const GPU: Version = ("max_gpu", |a, b| call(|| max_gpu(&simulator(), a, b)));

fn is_right((name, version): Version, a: &Array2<i32>, b: &Array2<i32>) -> Result<(), Failure> {
    check(name, version(a, b).and_then(|c| verify(&c, a, b)))
}

/// Random matrices, the smallest that fails; then edges: one element, none, the ends of the integers.
fn is_right_for_all(version: Version) -> Result<(), Failure> {
    for_any(40, (0..40_usize, 0..40_usize, 0..1000_u64), |(rows, columns, seed)| {
        is_right(version, &matrix(rows, columns, seed), &matrix(rows, columns, seed + 1))
    })?;
    is_right(version, &array![[i32::MIN, 7, -1]], &array![[i32::MAX, 7, -2]])?;
    is_right(version, &matrix(1, 2049, 1), &matrix(1, 2049, 2))?;
    let (wide, tall) = (matrix(20, 9, 3), matrix(9, 20, 4));
    is_right(version, &wide.slice(s![..;-1, ..]).to_owned(), &tall.t().to_owned())
}

#[test]
fn max_cpu_is_right() -> Result<(), Failure> {
    is_right_for_all(CPU)
}

#[test]
fn max_rayon_is_right() -> Result<(), Failure> {
    is_right_for_all(RAYON)?;
    check("max_rayon", divides_work(Path::new(env!("CARGO_MANIFEST_DIR")), "src/parallel.rs"))
}

#[test]
fn max_gpu_is_right_on_the_simulator() -> Result<(), Failure> {
    is_right_for_all(GPU)
}

#[test]
fn max_gpu_takes_the_homeworks_matrices() -> Result<(), Failure> {
    is_right(GPU, &matrix(1000, 1000, 5), &matrix(1000, 1000, 6))
}

#[test]
fn different_shapes_are_rejected() -> Result<(), Failure> {
    for (name, version) in [CPU, RAYON, GPU] {
        match version(&matrix(2, 3, 0), &matrix(3, 2, 0)) {
            Err(error) if error.contains("the shapes must be the same") => {}
            Err(error) => return Err(format!("{name}: {error}").into()),
            Ok(_) => return Err(format!("{name}: a 2 × 3 and a 3 × 2 matrix have a maximum, expected an error").into()),
        }
    }
    Ok(())
}
