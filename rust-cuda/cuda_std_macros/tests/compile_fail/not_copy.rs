#![allow(unused_variables)]

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn not_copy(name: String, out: GlobalMut<f32>) {}

fn main() {}
