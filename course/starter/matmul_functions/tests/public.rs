//! The public tests of part 3. `cargo test -p matmul_functions`

use std::convert::Infallible;
use std::path::Path;

use gpu::{Device, SimulatorOptions};
use matmul_functions::{matmul_transpose_gpu, matmul_transpose_rayon, matmul_transpose_trivial, verify};
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, call, check, divides_work, for_any, has_own_loops, seed_of_the_tests};

fn matrix(rows: usize, columns: usize, seed: u64) -> Array2<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
    Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0))
}

/// The simulator; two threads that write one element are a fault, also if they write the same value.
fn simulator() -> Device {
    Device::simulator_with(SimulatorOptions { same_value_races_are_faults: true, ..SimulatorOptions::default() })
}

/// A version: its name, and the function.
type Version = (&'static str, fn(&Array2<f32>) -> Result<Array2<f32>, String>);

const TRIVIAL: Version = ("matmul_transpose_trivial", |x| call(|| Ok::<_, Infallible>(matmul_transpose_trivial(x))));
const RAYON: Version = ("matmul_transpose_rayon", |x| call(|| Ok::<_, Infallible>(matmul_transpose_rayon(x))));
const GPU: Version = ("matmul_transpose_gpu", |x| call(|| matmul_transpose_gpu(&simulator(), x)));

fn is_right((name, version): Version, x: &Array2<f32>) -> Result<(), Failure> {
    check(name, version(x).and_then(|c| verify(&c, x)))
}

/// Random matrices, the smallest that fails; then more rows than fit one pass of 1024 threads.
fn is_right_for_all(version: Version) -> Result<(), Failure> {
    for_any(30, (0..24_usize, 0..24_usize, 0..1000_u64), |(rows, columns, seed)| {
        is_right(version, &matrix(rows, columns, seed))
    })?;
    is_right(version, &matrix(33, 17, 1))?;
    is_right(version, &matrix(70, 3, 2))
}

#[test]
fn matmul_transpose_trivial_is_right() -> Result<(), Failure> {
    is_right_for_all(TRIVIAL)?;
    check("matmul_transpose_trivial", has_own_loops(Path::new(env!("CARGO_MANIFEST_DIR")), "src/trivial.rs"))
}

#[test]
fn matmul_transpose_rayon_is_right() -> Result<(), Failure> {
    is_right_for_all(RAYON)?;
    check("matmul_transpose_rayon", divides_work(Path::new(env!("CARGO_MANIFEST_DIR")), "src/parallel.rs"))
}

#[test]
fn matmul_transpose_gpu_is_right_on_the_simulator() -> Result<(), Failure> {
    is_right_for_all(GPU)
}
