//! Atomic operations as Rust's own types have them.

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
fn not_there(out: GlobalMut<u32>) {
    out.atomic(0).fetch_min(1);
    out.atomic(0).store(1);
}

fn main() {}
