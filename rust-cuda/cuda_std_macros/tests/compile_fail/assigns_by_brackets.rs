//! Memory that many threads write has no places to assign to.

use cuda_std::{GlobalMut, kernel, thread};

#[kernel]
fn doubles(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    out[i] = 2.0 * x[i];
}

#[kernel]
fn counts(out: GlobalMut<u32>) {
    out[0] += 1;
}

fn main() {}
