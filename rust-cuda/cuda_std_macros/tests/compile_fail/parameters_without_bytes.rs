//! Values that the PTX would not have among its parameters.

use cuda_std::{ByValue, GlobalMut, kernel};

#[derive(Clone, Copy, ByValue)]
#[repr(C)]
struct Nothing;

/// A part of nothing is no harm.
#[derive(Clone, Copy, ByValue)]
#[repr(C)]
struct Some {
    first: u64,
    nothing: [u64; 0],
}

#[kernel]
fn takes_an_empty_struct(_nothing: Nothing, _out: GlobalMut<f32>) {}

#[kernel]
fn takes_an_empty_array(_nothing: [u32; 0], _out: GlobalMut<f32>) {}

#[kernel]
fn takes_empty_structs(_nothing: [Nothing; 2], _out: GlobalMut<f32>) {}

#[kernel]
unsafe fn copies_nothing(_nothing: Nothing, _out: *mut f32) {}

#[kernel]
fn takes_some(_some: Some, _out: GlobalMut<f32>) {}

fn main() {}
