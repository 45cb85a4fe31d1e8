#![allow(unused_variables)]

use cuda_std::kernel;

struct Matrix;

impl Matrix {
    #[kernel]
    fn method(&self, x: &[f32]) {}
}

fn main() {}
