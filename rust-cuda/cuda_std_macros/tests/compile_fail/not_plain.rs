#![allow(unused_variables)]

use cuda_std::kernel;

#[kernel]
async fn waits(x: &[f32]) {}

#[kernel(fast)]
fn has_arguments(x: &[f32]) {}

fn main() {}
