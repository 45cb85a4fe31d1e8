//! A kernel is launched, and not called by another one.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn fill(out: GlobalMut<f32>) {
    out.set(0, 1.0);
}

#[kernel]
fn fill_twice(out: GlobalMut<f32>) {
    fill(out);
    fill(out);
}

fn main() {}
