//! Vectors, texts, arrays, tuples, functions: values of the host.

use cuda_std::{Global, GlobalMut, kernel};

#[kernel]
fn takes_a_vector(x: Vec<f32>, out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_box(x: Box<[f32]>, out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_text(name: String, out: GlobalMut<u8>) {}

#[kernel]
fn takes_an_array_of_texts(names: [&'static str; 3], out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_tuple(size: (u32, u32), out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_slice(x: [f32], out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_function(f: fn(f32) -> f32, out: GlobalMut<f32>) {}

#[kernel]
fn takes_any_function(f: impl Fn(f32) -> f32, out: GlobalMut<f32>) {}

#[kernel]
fn takes_what_the_body_sees(x: Global<f32>, out: GlobalMut<f32>) {}

#[kernel]
fn names_no_element(out: GlobalMut) {}

#[kernel]
fn names_a_slice(out: GlobalMut<[f32]>) {}

fn main() {}
