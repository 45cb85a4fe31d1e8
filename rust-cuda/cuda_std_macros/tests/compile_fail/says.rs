//! What a kernel cannot say.

use cuda_std::{F32x4, GlobalMut, kernel, thread};

#[kernel]
fn says_a_struct(x: &[F32x4], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    println!("{:?}", x[i]);
    assert!(out[i] > 0.0, "not positive: {}", "text");
}

#[kernel]
fn has_a_width_of_the_launch(width: u32, out: GlobalMut<f32>) {
    println!("{:width$}", out.get(0), width = width as usize);
}

#[kernel]
fn lacks_a_value(out: GlobalMut<f32>) {
    println!("{} of {}", out.len());
}

fn main() {}
