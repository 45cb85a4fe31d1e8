//! Brackets of memory that the kernel only reads, on the left of an assignment, and a loop over it.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn assigns(x: &[f32], out: GlobalMut<f32>) {
    x[0] = 1.0;
    x[1] += 1.0;
    out.set(0, x[0]);
}

#[kernel]
fn over_the_memory(x: &[f32], out: GlobalMut<f32>) {
    for value in x {
        out.set(0, value);
    }
}

/// A variable may have the name of a parameter.
#[kernel]
fn has_a_copy(x: &[f32], out: GlobalMut<f32>) {
    let mut x = [x[0], x[1]];
    x[0] += 1.0;
    for value in x {
        out.set(0, value);
    }
}

fn main() {}
