#![allow(unused_variables)]

use cuda_std::kernel;

#[kernel]
fn mutable_slice(x: &mut [f32], y: &f32, (a, b): (f32, f32)) {}

fn main() {}
