//! A value as the last expression.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn ends_with_a_value(x: &[f32], out: GlobalMut<f32>) {
    out.set(0, x[0]);
    x[0]
}

#[kernel]
fn ends_without_a_semicolon(x: &[f32], out: GlobalMut<f32>) {
    out.atomic(0).fetch_add(x[0])
}

fn main() {}
