#![allow(unused_variables)]

use cuda_std::kernel;

#[kernel]
fn returns_a_value(x: &[f32]) -> f32 {
    x[0]
}

fn main() {}
