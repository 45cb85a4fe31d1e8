//! Atomic operations as Rust's own types have them, and those that a type has not.

use cuda_std::{GlobalMut, kernel};
use std::sync::atomic::Ordering;

#[kernel]
fn with_an_ordering(out: GlobalMut<u32>) {
    out.atomic(0).fetch_add(1, Ordering::Relaxed);
}

#[kernel]
fn of_another_type(out: GlobalMut<u32>) {
    out.atomic(0).fetch_add(1.5);
}

#[kernel]
fn without_an_index(out: GlobalMut<u32>) {
    out.fetch_add(1);
}

#[kernel]
fn bits_of_a_float(out: GlobalMut<f32>) {
    out.atomic(0).fetch_and(1.0);
}

fn main() {}
