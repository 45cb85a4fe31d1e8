//! The public tests of the filters. `cargo test -p filters`

use std::path::Path;

use filters::{
    EDGES, NEIGHBOURS, SOBEL, correlation_gpu, correlation_rayon, correlation_trivial, sobel_operator, verify,
    verify_edges,
};
use gpu::{Device, SimulatorOptions};
use ndarray::{Array2, arr2, array, s};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, call, check, divides_work, for_any, seed_of_the_tests};

fn matrix(rows: usize, columns: usize, seed: u64) -> Array2<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
    Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0))
}

/// The simulator; two threads that write one element are a fault, also if they write the same value.
fn simulator() -> Device {
    Device::simulator_with(SimulatorOptions { same_value_races_are_faults: true, ..SimulatorOptions::default() })
}

/// A version: its name, and the function of a kernel and an image.
type Version = (&'static str, fn(&Array2<f32>, &Array2<f32>) -> Result<Array2<f32>, String>);

const TRIVIAL: Version =
    ("correlation_trivial", |kernel, image| call(|| Ok::<_, String>(correlation_trivial(kernel, image))));
const RAYON: Version =
    ("correlation_rayon", |kernel, image| call(|| Ok::<_, String>(correlation_rayon(kernel, image))));
const GPU: Version = ("correlation_gpu", |kernel, image| call(|| correlation_gpu(&simulator(), kernel, image)));

fn is_right((name, version): Version, kernel: &Array2<f32>, image: &Array2<f32>) -> Result<(), Failure> {
    check(name, version(kernel, image).and_then(|result| verify(&result, kernel, image)))
}

/// Random kernels, also of even sizes and larger than the image, the smallest that fails; then one row, one column, no pixel, and matrices
/// that are not in rows.
fn is_right_for_all(version: Version) -> Result<(), Failure> {
    let sizes = ((1..8_usize, 1..8_usize), (0..20_usize, 0..20_usize), 0..1000_u64);
    for_any(40, sizes, |((kernel_rows, kernel_columns), (rows, columns), seed)| {
        is_right(version, &matrix(kernel_rows, kernel_columns, seed), &matrix(rows, columns, seed + 1))
    })?;
    is_right(version, &array![[0.0, 0.0, 1.0]], &array![[1.0, 2.0, 3.0, 4.0]])?;
    is_right(version, &arr2(&NEIGHBOURS), &Array2::ones((1, 9)))?;
    is_right(version, &arr2(&SOBEL), &matrix(300, 1, 1))?;
    let (kernel, image) = (matrix(3, 5, 2), matrix(9, 20, 3));
    is_right(version, &kernel.t().to_owned(), &image.slice(s![..;-1, ..]).to_owned())?;
    is_right(version, &kernel.slice(s![.., ..;-1]).to_owned(), &image.t().to_owned())
}

#[test]
fn correlation_trivial_is_right() -> Result<(), Failure> {
    is_right_for_all(TRIVIAL)
}

#[test]
fn correlation_rayon_is_right() -> Result<(), Failure> {
    is_right_for_all(RAYON)?;
    check("correlation_rayon", divides_work(Path::new(env!("CARGO_MANIFEST_DIR")), "src/parallel.rs"))
}

#[test]
fn correlation_gpu_is_right_on_the_simulator() -> Result<(), Failure> {
    is_right_for_all(GPU)
}

fn edges_are_right(filter: &Array2<f32>, image: &Array2<f32>) -> Result<(), Failure> {
    let edges = call(|| Ok::<_, String>(sobel_operator(filter, image)));
    check("sobel_operator", edges.and_then(|edges| verify_edges(&edges, filter, image)))
}

/// A step between two columns, a dot, and random images, by each of the four filters; and a filter that is not symmetric.
#[test]
fn sobel_operator_is_right() -> Result<(), Failure> {
    let step = Array2::from_shape_fn((5, 6), |(_, j)| if j < 2 { 0.0 } else { 1.0 });
    let dot = Array2::from_shape_fn((9, 9), |place| if place == (4, 4) { 1.0 } else { 0.0 });
    for (_, filter) in EDGES {
        edges_are_right(&filter(), &step)?;
        edges_are_right(&filter(), &step.t().to_owned())?;
        edges_are_right(&filter(), &dot)?;
    }
    edges_are_right(&matrix(3, 5, 7), &matrix(20, 30, 8))?;
    for_any(20, (0..4_usize, 0..20_usize, 0..20_usize, 0..1000_u64), |(filter, rows, columns, seed)| {
        edges_are_right(&EDGES[filter].1(), &matrix(rows, columns, seed))
    })
}
