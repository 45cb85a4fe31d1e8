//! Part 3's functions, for the judge.

use grader::{Functions, Matrix, by_simulator};
use matmul_functions::{matmul_transpose_gpu, matmul_transpose_rayon, matmul_transpose_trivial};

fn main() -> std::io::Result<()> {
    Functions::default()
        .with("matmul_transpose_trivial", |x: Matrix<f32>| Ok(Matrix(matmul_transpose_trivial(&x.0))))
        .with("matmul_transpose_rayon", |x: Matrix<f32>| Ok(Matrix(matmul_transpose_rayon(&x.0))))
        .with("matmul_transpose_gpu", |x: Matrix<f32>| {
            by_simulator(|device| matmul_transpose_gpu(device, &x.0).map(Matrix).map_err(|error| error.to_string()))
        })
        .serve()
}
