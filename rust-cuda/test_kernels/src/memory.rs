//! Local memory, constant tables, vectors and f64 arithmetic.

use cuda_std::{F32x4, GlobalMut, kernel, math, shared_array, thread};

/// The number of bins that [`local_counts`] has per thread.
pub const LOCAL_BINS: usize = 16;

/// A histogram per thread: out[16 · thread + b] = how many of the thread's `count` elements of x, from thread · `count`
/// on, are b modulo 16. The bins are in local memory, as their index is known only at run time.
#[kernel]
pub fn local_counts(x: &[u32], count: u32, out: GlobalMut<u32>) {
    let (i, count) = (thread::index_1d() as usize, count as usize);
    if (i + 1) * count <= x.len() {
        let mut counts = [0u32; LOCAL_BINS];
        for index in 0..count {
            counts[x[i * count + index] as usize % LOCAL_BINS] += 1;
        }
        for (bin, &count) in counts.iter().enumerate() {
            out.set(i * LOCAL_BINS + bin, count);
        }
    }
}

/// The first 16 prime numbers: a constant table in global memory.
pub static PRIMES: [u32; 16] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];

/// Arbitrary weights, which the compiler cannot replace by a formula.
pub static WEIGHTS: [f64; 8] = [0.5, -1.25, 3.75, 1e-3, -7.5e10, 0.0, 2.0, -0.1];

/// `out[i]` = the prime with index `x[i]` modulo 16 times the weight with index `x[i]` modulo 8.
#[kernel]
pub fn table(x: &[u8], out: GlobalMut<f64>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let index = usize::from(x[i]);
        out.set(i, f64::from(PRIMES[index % PRIMES.len()]) * WEIGHTS[index % WEIGHTS.len()]);
    }
}

/// `out[i]` = the four elements of x from 4 i on, in reverse order.
#[kernel]
pub fn quads(x: &[f32], out: GlobalMut<F32x4>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out.set(i, F32x4::new(x[4 * i + 3], x[4 * i + 2], x[4 * i + 1], x[4 * i]));
    }
}

/// The number of values that [`doubles`] writes for each element.
pub const DOUBLES: usize = 12;

/// `out[12 i ..]` = a + b, a − b, a · b, a / b, a · b + 1 with one rounding, √|a|, the minimum, the maximum, |a|, a as an
/// i32 with saturation, a rounded to f32, and 1 where a < b, else 0.
#[kernel]
pub fn doubles(a: &[f64], b: &[f64], out: GlobalMut<f64>) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        let (a, b) = (a[i], b[i]);
        out.set(i * DOUBLES, a + b);
        out.set(i * DOUBLES + 1, a - b);
        out.set(i * DOUBLES + 2, a * b);
        out.set(i * DOUBLES + 3, a / b);
        out.set(i * DOUBLES + 4, math::fma(a, b, 1.0));
        out.set(i * DOUBLES + 5, math::sqrt(a.abs()));
        out.set(i * DOUBLES + 6, a.min(b));
        out.set(i * DOUBLES + 7, a.max(b));
        out.set(i * DOUBLES + 8, a.abs());
        out.set(i * DOUBLES + 9, f64::from(a as i32));
        out.set(i * DOUBLES + 10, f64::from(a as f32));
        out.set(i * DOUBLES + 11, f64::from(u8::from(a < b)));
    }
}

/// Each block's 32 vectors in reverse order, by way of an array of vectors in shared memory.
#[kernel]
pub fn turned_vectors(x: &[F32x4], out: GlobalMut<F32x4>) {
    let tile = shared_array![F32x4; 32];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    tile[t] = x[i];
    thread::sync_threads();
    out[i] = tile[31 - t];
}
