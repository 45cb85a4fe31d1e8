//! Values that a launch does not copy to a GPU.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn takes_an_option(limit: Option<f32>, out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_flag(is_first: bool, out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_character(letter: char, out: GlobalMut<u8>) {}

#[kernel]
fn takes_a_short_integer(offset: i16, out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_signed_size(offset: isize, out: GlobalMut<f32>) {}

#[kernel]
fn takes_a_long_integer(offset: u128, out: GlobalMut<f32>) {}

fn main() {}
