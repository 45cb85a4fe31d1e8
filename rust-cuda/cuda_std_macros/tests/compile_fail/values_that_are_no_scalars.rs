//! Values that a launch does not copy to a GPU.

use cuda_std::{ByValue, GlobalMut, kernel};

#[kernel]
fn takes_an_option(limit: Option<f32>, out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_character(letter: char, out: GlobalMut<u8>) {}

#[derive(Clone, Copy, ByValue)]
enum Shape {
    Round,
}

#[derive(Clone, Copy, ByValue)]
struct InAnyOrder {
    radius: f32,
}

#[derive(Clone, Copy, ByValue)]
#[repr(C)]
struct OfAnyType<T> {
    radius: T,
}

#[derive(Clone, Copy, ByValue)]
#[repr(C)]
struct WithAPointer {
    next: *const u32,
}

#[derive(Clone, Copy, ByValue)]
#[repr(C, align(16))]
struct Padded {
    x: f32,
}

fn main() {}
