#![allow(unused_variables)]

use cuda_std::kernel;

#[kernel]
fn generic<T: Copy>(x: &[T]) {}

#[kernel]
fn hidden_generic(x: impl Copy) {}

fn main() {}
