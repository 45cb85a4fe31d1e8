//! `shared_array!` without its parts.

use cuda_std::{GlobalMut, kernel, shared_array};

#[kernel]
fn without_a_length(out: GlobalMut<f32>) {
    let tile = shared_array![f32];
    out.set(0, tile.get(0));
}

#[kernel]
fn with_a_comma(out: GlobalMut<f32>) {
    let tile = shared_array![f32, 32];
    out.set(0, tile.get(0));
}

#[kernel]
fn with_values(out: GlobalMut<f32>) {
    let tile = shared_array![0.0; 32];
    out.set(0, tile.get(0));
}

#[kernel]
fn without_anything(out: GlobalMut<f32>) {
    let tile = shared_array![];
    out.set(0, tile.get(0));
}

fn main() {}
