//! Types that are not passed by value.

use cuda_std::{GlobalMut, kernel};

#[kernel]
fn flags(is_first: bool, count: u16, out: GlobalMut<f32>) {}

fn main() {}
