//! Floats of 16 bits in memory, with sums in f32.

use cuda_std::half::{Half, bf16, f16};
use cuda_std::{GlobalMut, kernel, thread};

/// `out[i]` = a · `x[i]` + `y[i]`, computed in f32 and rounded once.
#[kernel(f16, bf16)]
pub fn scaled_sum<T: Half>(a: f32, x: &[T], y: &[T], out: GlobalMut<T>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out[i] = T::narrow(a * x[i].wide() + y[i].wide());
    }
}

/// `out[i]` = `x[i]`, rounded.
#[kernel(f16, bf16)]
pub fn narrowed<T: Half>(x: &[f32], out: GlobalMut<T>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out[i] = T::narrow(x[i]);
    }
}

/// `out[i]` = `x[i]`, exactly.
#[kernel(f16, bf16)]
pub fn widened<T: Half>(x: &[T], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out[i] = x[i].wide();
    }
}

/// `out[i]` = `x[i]`² with the operators of the crate `half`.
#[kernel]
pub fn squares_by_half(x: &[f16], out: GlobalMut<f16>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out[i] = x[i] * x[i];
    }
}
