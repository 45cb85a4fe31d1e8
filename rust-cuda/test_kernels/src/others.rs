//! Kernels as people write them: operations for which the compiler calls a function, floats' methods, names, constants and
//! fragments of macros.

use cuda_std::math::GpuFloat;
use cuda_std::{GlobalMut, kernel, shared_array, thread, warp};

/// Number of results of [`remainders`] for each pair.
pub const REMAINDERS: usize = 3;

/// x % y, x % 0.7 and 5 % y.
#[kernel]
pub fn remainders(x: &[f32], y: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        out.set(REMAINDERS * i, x[i] % y[i]);
        out.set(REMAINDERS * i + 1, x[i] % 0.7);
        out.set(REMAINDERS * i + 2, 5.0 % y[i]);
    }
}

/// x % y, x % 0.7 and 5 % y.
#[kernel]
pub fn remainders_f64(x: &[f64], y: &[f64], out: GlobalMut<f64>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        out.set(REMAINDERS * i, x[i] % y[i]);
        out.set(REMAINDERS * i + 1, x[i] % 0.7);
        out.set(REMAINDERS * i + 2, 5.0 % y[i]);
    }
}

/// Number of results of [`beside_quotients`] for each pair.
pub const BESIDE_QUOTIENTS: usize = 22;

macro_rules! beside_quotients {
    ($name:ident, $float:ident) => {
        /// Remainders beside quotients, truncated quotients and approximations of the same operands, with other signs, by powers of
        /// two, in branches and in a loop of `n` rounds: the compiler computes what they have in common once.
        #[kernel]
        pub fn $name(x: &[$float], y: &[$float], n: u32, out: GlobalMut<$float>) {
            let i = thread::index_1d() as usize;
            if i < x.len() {
                let (x, y, at) = (x[i], y[i], BESIDE_QUOTIENTS * i);
                out.set(at, x / y);
                out.set(at + 1, x % y);
                out.set(at + 2, GpuFloat::trunc(x / y));
                out.set(at + 3, x - y * GpuFloat::trunc(x / y));
                let whole = GpuFloat::trunc(x / 3.0);
                out.set(at + 4, x % 3.0);
                out.set(at + 5, whole);
                out.set(at + 6, x - 3.0 * GpuFloat::trunc(x / 3.0));
                out.set(at + 7, x / 3.0);
                out.set(at + 8, x % -y);
                out.set(at + 9, -x % y);
                out.set(at + 10, -(-x % -y));
                out.set(at + 11, x % 4.0 - x % 0.5);
                out.set(at + 12, (x / y) % -4.0);
                out.set(at + 13, x % -0.125);
                out.set(at + 14, x % 1.0 + (x / y) % -1.0);
                out.set(at + 15, GpuFloat::rem_euclid(x, y));
                out.set(at + 16, GpuFloat::div_euclid(x, y));
                let chosen = if x < y { x / y + x % y } else { y % x - x % y };
                out.set(at + 17, chosen);
                let (mut a, mut b, mut sum) = (x, y, 0.0);
                for round in 0..n {
                    let rest = a % b;
                    sum += a / b;
                    if rest == 0.0 {
                        break;
                    }
                    a = b % 7.0 - round as $float;
                    b = rest;
                }
                out.set(at + 18, sum);
                out.set(at + 19, b);
                out.set(at + 20, GpuFloat::mul_add(GpuFloat::trunc(x / 1.7), -1.7, x));
                out.set(at + 21, 360.0 % (y / 360.0));
            }
        }
    };
}

beside_quotients! { beside_quotients, f32 }
beside_quotients! { beside_quotients_f64, f64 }

/// Whether each eight words are 1 to 8, and whether their first half is less than the second.
#[kernel]
pub fn compares_arrays(a: &[u32], out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if 8 * i >= a.len() {
        return;
    }
    let mut words = [0_u32; 8];
    for (k, word) in words.iter_mut().enumerate() {
        *word = a[8 * i + k];
    }
    let bytes = |from: usize| {
        let mut bytes = [0_u8; 16];
        for k in 0..4 {
            bytes[4 * k..4 * k + 4].copy_from_slice(&words[from + k].to_le_bytes());
        }
        bytes
    };
    let (first, second) = (bytes(0), bytes(4));
    out.set(i, u32::from(words == [1, 2, 3, 4, 5, 6, 7, 8]) | u32::from(first[..] < second[..]) << 1);
}

/// Written once for all floats.
fn smooth_step<F: GpuFloat + core::ops::Sub<Output = F>>(x: F, sign: F) -> F {
    (x.abs() - x.signum().exp()).copysign(sign)
}

/// The same, of f64, in an order of its own: the sum of some.
#[kernel]
pub fn float_functions_f64(x: &[f64], out: GlobalMut<f64>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let x = x[i];
        let sum = x.exp() + x.abs().ln() + x.floor() + x.powi(3) + x.sqrt().fract();
        out.set(i, sum + smooth_step(x, -sum));
    }
}

/// Reverses each block's values; the length is a constant of the function.
#[kernel]
pub fn tile_of_the_function(x: &[f32], out: GlobalMut<f32>) {
    const THREADS: usize = 64;
    let tile = shared_array![f32; THREADS + 1];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    tile.set(t, x[i]);
    thread::sync_threads();
    out.set(i, tile.get(THREADS - 1 - t));
}

/// Each lane gets the value of the next, the last that of the first.
#[kernel]
pub fn rotate(out: GlobalMut<u32>) {
    let t = thread::thread_idx_x();
    out.set(t as usize, warp::shuffle_idx(t * 10, warp::lane_id() + 1));
}

/// The votes of the lanes that have not returned.
#[kernel]
pub fn vote_after_return(x: &[u32], out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    out.set(i, warp::ballot(x[i].is_multiple_of(3)));
}

/// The sum of all values, by atomic operations in global memory.
#[kernel]
pub fn atomic_total(x: &[f32], sum: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        sum.atomic(0).fetch_add(x[i]);
    }
}

/// Elements of the local array of [`large_local_array`].
const LOCAL: usize = 16_384;

/// A sum through a local array of 64 KiB.
#[kernel]
pub fn large_local_array(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    let mut a = [0_f32; LOCAL];
    for k in 0..x.len() {
        a[(k * 37 + i) % LOCAL] += x[k];
    }
    let mut sum = 0.0;
    for (k, value) in a.iter().enumerate() {
        sum += value * (k % 3) as f32;
    }
    out.set(i, sum);
}

/// A kernel with the names that the macro's code might have, for its parameters and variables, and one of its own name.
#[kernel]
pub fn sum(raw: &[f32], raw_length: u32, raw_pointer: u32, body: &[f32], budget: u32, out: GlobalMut<f32>) {
    let mut sum = (raw_length + raw_pointer + budget) as f32;
    for address in 0..raw.len() {
        let array = raw[address] * body[address];
        sum += array;
    }
    out.set(thread::index_1d() as usize, sum);
}

macro_rules! twice {
    ($name:ident, $x:ident, $i:ident, $value:expr) => {
        /// Twice the value of an expression.
        #[kernel]
        pub fn $name($x: &[f32], out: GlobalMut<f32>) {
            let $i = thread::index_1d() as usize;
            out.set($i, 2.0 * $value);
        }
    };
}

twice!(twice_the_sum, x, i, x[i] + 1.0);

macro_rules! axpy {
    ($name:ident, $t:ty) => {
        /// y ← a · x + y
        #[kernel]
        pub fn $name(a: $t, x: &[$t], y: GlobalMut<$t>) {
            let i = thread::index_1d() as usize;
            if i < y.len() {
                y.set(i, a * x[i] + y.get(i));
            }
        }
    };
}

axpy!(axpy_f32, f32);
axpy!(axpy_f64, f64);
