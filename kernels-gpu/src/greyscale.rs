//! Preprocessing of greyscale values for a neuron: normalize, weigh and activate, as three kernels and as one fused
//! kernel.
//!
//! Idea: the kernels are bound by memory bandwidth. Each thread handles four floats with 128-bit loads and stores, and
//! a launch has one thread per four floats, so that all loads are in flight at once. The three kernels together move 28
//! bytes per value, the fused kernel 12.
//!
//! Buffer lengths are in quads of four floats; the caller pads with zeros.

use cuda_std::{F32x4, GlobalMut, kernel, math, thread};

/// The largest greyscale value.
const WHITE: f32 = 255.0;

/// out\[i\] = x\[i\] / 255, correctly rounded.
#[kernel]
pub fn normalize_kernel(x: &[F32x4], out: GlobalMut<F32x4>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let F32x4 { x, y, z, w } = x.get(i);
        out.set(i, F32x4::new(x / WHITE, y / WHITE, z / WHITE, w / WHITE));
    }
}

/// out\[i\] = x\[i\] · w\[i\].
#[kernel]
pub fn weigh_kernel(x: &[F32x4], w: &[F32x4], out: GlobalMut<F32x4>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let (x, w) = (x.get(i), w.get(i));
        out.set(i, F32x4::new(x.x * w.x, x.y * w.y, x.z * w.z, x.w * w.w));
    }
}

/// out\[i\] = tanh x\[i\], within 1e-6.
#[kernel]
pub fn activate_kernel(x: &[F32x4], out: GlobalMut<F32x4>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let F32x4 { x, y, z, w } = x.get(i);
        out.set(i, F32x4::new(tanh(x), tanh(y), tanh(z), tanh(w)));
    }
}

/// out\[i\] = tanh(x\[i\] / 255 · w\[i\]), within 1e-6: the three steps fused, with intermediates in registers.
#[kernel] // report: begin fused_kernel
pub fn normalize_weigh_activate_kernel(x: &[F32x4], w: &[F32x4], out: GlobalMut<F32x4>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let F32x4 { x, y, z, w } = normalized_and_weighed(x.get(i), w.get(i));
        out.set(i, F32x4::new(tanh(x), tanh(y), tanh(z), tanh(w)));
    }
} // report: end fused_kernel

/// The fused kernel with the hardware's `tanh.approx.f32`, one instruction with a relative error of 2⁻¹¹.
#[kernel]
pub fn normalize_weigh_activate_fast_kernel(x: &[F32x4], w: &[F32x4], out: GlobalMut<F32x4>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let F32x4 { x, y, z, w } = normalized_and_weighed(x.get(i), w.get(i));
        let tanh = math::fast::tanh;
        out.set(i, F32x4::new(tanh(x), tanh(y), tanh(z), tanh(w)));
    }
}

/// x / 255 · w, with a multiplication by 1/255 instead of the division: at most 1 ulp more.
#[inline(always)]
fn normalized_and_weighed(x: F32x4, w: F32x4) -> F32x4 {
    const SCALE: f32 = 1.0 / WHITE;
    F32x4::new(x.x * SCALE * w.x, x.y * SCALE * w.y, x.z * SCALE * w.z, x.w * SCALE * w.w)
}

/// tanh x within 5 ulp, without the branches and the exact division of [`math::tanh`], four of which per thread would
/// make the kernel compute-bound.
///
/// With h = ½ (e²ˣ − 1), tanh x = h / (h + 1). For e²ˣ, x = n · ½ ln 2 + s with |s| ≤ ¼ ln 2; ½ (e²ˢ − 1) is a minimax
/// polynomial with a relative error of 1.4e-8, the same as in the CPU's kernel.
#[inline(always)]
fn tanh(x: f32) -> f32 {
    // Adding 1.5 · 2²³ leaves the nearest integer in the sum's low bits; 127 more makes them a biased f32 exponent.
    const ROUND: f32 = 12_582_912.0 + 127.0;
    const HALF_LN2: f32 = 0.5 * core::f32::consts::LN_2;
    // From 9.1 on the nearest f32 is 1. These comparisons, here and below, propagate NaN.
    let size = x.abs();
    let size = if size > 9.1 { 9.1 } else { size };
    let shifted = math::fma(size, 2.0 * core::f32::consts::LOG2_E, ROUND);
    let s = math::fma(shifted - ROUND, -HALF_LN2, size);
    let mut q = 4.447_373_7e-2;
    for coefficient in [1.338_584_3e-1, 3.333_348_6e-1, 6.666_619e-1, 1.0] {
        q = math::fma(q, s, coefficient);
    }
    let power = f32::from_bits(shifted.to_bits() << 23);
    let h = math::fma(power, math::fma(s * s, q, s), math::fma(power, 0.5, -0.5));
    let quotient = h * math::fast::recip(h + 1.0);
    // The reciprocal's error can make the quotient exceed 1.
    (if quotient > 1.0 { 1.0 } else { quotient }).copysign(x)
}
