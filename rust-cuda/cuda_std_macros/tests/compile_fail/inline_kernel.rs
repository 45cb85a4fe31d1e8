//! Nothing calls a kernel.

use cuda_std::{GlobalMut, kernel};

#[kernel]
#[inline]
fn inlined(out: GlobalMut<f32>) {
    out.set(0, 1.0);
}

fn main() {}
