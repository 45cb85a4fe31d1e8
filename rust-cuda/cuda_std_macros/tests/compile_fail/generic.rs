#![allow(unused_variables)]

use cuda_std::{Element, kernel};

#[kernel]
fn generic<T: Copy>(x: &[T]) {}

#[kernel]
fn with_a_constant<T: Element, const N: usize>(x: &[T]) {}

#[kernel]
fn hidden_generic(x: impl Copy) {}

#[kernel(f32)]
fn not_generic(x: &[f32]) {}

#[kernel(<f32, 4>, f64)]
fn lacks_a_constant<T: Element, const N: usize>(x: &[T]) {}

#[kernel(f32, f64, f32)]
fn lists_one_twice<T: Element>(x: &[T]) {}

#[kernel(3)]
fn has_a_number<T: Element>(x: &[T]) {}

fn main() {}
