//! One kernel for each step, one thread for each value. `x.get(i)` reads an element of a `GlobalMut`, `x.set(i, value)`
//! writes it; threads beyond the end must do neither.

use cuda_std::{GlobalMut, kernel, math, thread};

/// x\[i\] becomes x\[i\] / 255.
#[kernel]
pub fn normalize_kernel(x: GlobalMut<f32>) {
    // write: normalize_kernel
    let i = thread::index_1d() as usize;
    if i < x.len() {
        x.set(i, x.get(i) / 255.0);
    }
    // end
}

/// x\[i\] becomes x\[i\] · w\[i\].
#[kernel]
pub fn weigh_kernel(x: GlobalMut<f32>, w: &[f32]) {
    // write: weigh_kernel
    let i = thread::index_1d() as usize;
    if i < x.len() {
        x.set(i, x.get(i) * w[i]);
    }
    // end
}

/// x\[i\] becomes tanh x\[i\]; `math::exp` is eˣ.
#[kernel]
pub fn activate_kernel(x: GlobalMut<f32>) {
    // write: activate_kernel
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (up, down) = (math::exp(x.get(i)), math::exp(-x.get(i)));
        x.set(i, (up - down) / (up + down));
    }
    // end
}
