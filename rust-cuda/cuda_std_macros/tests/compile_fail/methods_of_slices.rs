//! Methods that slices, vectors and options have.

use cuda_std::{GlobalMut, kernel, thread};

#[kernel]
fn of_slices(x: &[f32], out: GlobalMut<f32>) {
    let sum: f32 = x.iter().sum();
    for value in out.iter_mut() {
        *value = sum;
    }
    out.fill(0.0);
    out.push(sum);
    let rows = x.chunks(4);
    let first = x.first();
    let length = x.len;
}

#[kernel]
fn of_options(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    let value = x.get(i).unwrap();
    if let Some(place) = out.get_mut(i) {
        *place = value;
    }
}

fn main() {}
