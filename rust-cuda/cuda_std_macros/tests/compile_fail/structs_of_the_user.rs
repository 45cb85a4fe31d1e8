//! A struct without `plain_data!`, as a value and as an element.

use cuda_std::{GlobalMut, kernel};

#[derive(Clone, Copy)]
struct Size {
    rows: u32,
    columns: u32,
}

#[kernel]
fn takes_a_struct(_size: Size, _out: GlobalMut<f32>) {}

#[kernel]
fn takes_structs(_sizes: &[Size], _out: GlobalMut<f32>) {}

fn main() {}
