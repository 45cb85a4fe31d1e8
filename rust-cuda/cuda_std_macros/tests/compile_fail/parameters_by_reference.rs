//! References to a value, a vector, a text or a closure.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn reads_one_value(factor: &f32, out: GlobalMut<f32>) {}

#[kernel]
fn writes_one_value(sum: &mut f32) {}

#[kernel]
fn reads_a_vector(x: &Vec<f32>, out: GlobalMut<f32>) {}

#[kernel]
fn writes_a_vector(out: &mut Vec<u32>) {}

#[kernel]
fn reads_a_text(name: &str, out: GlobalMut<u8>) {}

#[kernel]
fn borrows_what_it_writes(out: &GlobalMut<f32>) {}

#[kernel]
fn borrows_what_it_writes_mutably(out: &mut GlobalMut<f32>) {}

#[kernel]
fn calls_back(x: &[f32], f: &dyn Fn(f32) -> f32, out: GlobalMut<f32>) {}

#[kernel]
fn borrows_an_array(x: &[f32; 4], out: GlobalMut<f32>) {}

fn main() {}
