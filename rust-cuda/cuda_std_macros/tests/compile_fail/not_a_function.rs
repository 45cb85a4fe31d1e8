//! `#[kernel]` on something else.

use cuda_std::kernel;

#[kernel]
struct Scale {
    factor: f32,
}

#[kernel]
mod kernels {}

#[kernel]
const LIMIT: u32 = 3;

#[kernel]
impl Scale {}

#[kernel]
use std::fmt;

fn main() {}
