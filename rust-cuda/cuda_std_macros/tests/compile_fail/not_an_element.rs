#![allow(unused_variables)]

use cuda_std::kernel;

#[kernel]
fn not_an_element(names: &[String]) {}

fn main() {}
