//! A value behind `return`, or as the last expression.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn returns_early(x: &[f32], out: GlobalMut<f32>) {
    if x[0] < 0.0 {
        return 0.0;
    }
    out.set(0, x[0]);
}

fn main() {}
