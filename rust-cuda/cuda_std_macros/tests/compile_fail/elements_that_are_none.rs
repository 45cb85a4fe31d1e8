//! Types that are no elements of a GPU's memory.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn flags(x: &[bool], out: GlobalMut<u32>) {}

#[kernel]
fn sizes(out: GlobalMut<usize>) {}

#[kernel]
fn letters(x: &[char], out: GlobalMut<u32>) {}

#[kernel]
fn signed_sizes(x: &[isize], out: GlobalMut<i8>) {}

#[kernel]
fn rows(x: &[[f32; 4]], out: GlobalMut<f32>) {}

#[kernel]
fn points(x: &[(f32, f32)], out: GlobalMut<f32>) {}

#[kernel]
fn lists(x: &[Vec<f32>], out: GlobalMut<f32>) {}

#[kernel]
fn slices(x: &[&[f32]], out: GlobalMut<f32>) {}

fn main() {}
