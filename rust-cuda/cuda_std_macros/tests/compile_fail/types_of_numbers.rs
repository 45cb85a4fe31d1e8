//! Integers and floats of other types than the place needs.

use cuda_std::{GlobalMut, kernel, thread};

#[kernel]
fn an_index_of_32_bits(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d();
    if i < out.len() {
        out.set(i, x.get(i));
    }
}

#[kernel]
fn integers_and_floats(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    out.set(i, 2 * x[i]);
    out.set(i, x[i] + i);
    out.set(i, 1);
}

#[kernel]
fn two_precisions(x: &[f64], out: GlobalMut<f32>) {
    out.set(0, x[0]);
    out.set(1, x[1] as f32 * 2.0_f64);
}

#[kernel]
fn a_method_with_other_arguments(x: &[f32], out: GlobalMut<f32>) {
    out.set(0, x[0].sin(2.0));
    out.set(1, x[0].powi(0.5));
    out.set(2, x[0].powf());
}

fn main() {}
