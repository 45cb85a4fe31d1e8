//! Part 2's functions, for the judge.

use grader::{Functions, Matrix, by_simulator};
use max_functions::{max_cpu, max_gpu, max_rayon};

type Both = (Matrix<i32>, Matrix<i32>);

fn main() -> std::io::Result<()> {
    Functions::default()
        .with("max_cpu", |(a, b): Both| max_cpu(&a.0, &b.0).map(Matrix).map_err(|error| error.to_string()))
        .with("max_rayon", |(a, b): Both| max_rayon(&a.0, &b.0).map(Matrix).map_err(|error| error.to_string()))
        .with("max_gpu", |(a, b): Both| {
            by_simulator(|device| max_gpu(device, &a.0, &b.0).map(Matrix).map_err(|error| error.to_string()))
        })
        .serve()
}
