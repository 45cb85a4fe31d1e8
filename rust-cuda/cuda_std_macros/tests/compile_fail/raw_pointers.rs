//! A kernel takes buffers, not addresses.

use cuda_std::kernel;

#[kernel]
fn adds(a: *const f32, b: *mut f32) {}

fn main() {}
