//! Memory of a launch is no slice and no vector.

use cuda_std::{GlobalMut, kernel, thread};

#[kernel]
fn writes_what_it_only_reads(x: &[f32], out: GlobalMut<f32>) {
    x.set(2, 1.0);
    x.atomic(3).fetch_add(1.0);
    out.set(0, x[0]);
}

#[kernel]
fn indices_of_another_type(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d();
    let first = &x[0..2];
    out.set(0, x[i] + first[0] + x[i as i32]);
}

fn main() {}
