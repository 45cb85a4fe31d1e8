//! The forms of `shared_array!`.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

#[kernel]
fn with_a_length_of_the_launch(n: u32, out: GlobalMut<f32>) {
    let tile = shared_array![f32; n as usize];
    out.set(0, tile.get(0));
}

#[kernel]
fn with_the_size_of_the_block(out: GlobalMut<f32>) {
    let tile = shared_array![f32; thread::block_dim_x() as usize];
    out.set(0, tile.get(0));
}

#[derive(Clone, Copy)]
struct Point {
    x: f32,
    y: f32,
}

#[kernel]
fn of_structs(out: GlobalMut<f32>) {
    let points = shared_array![Point; 32];
    out.set(0, 1.0);
}

fn main() {}
