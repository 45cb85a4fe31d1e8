//! Calls of functions that are not inlined, and branches through a table.

use cuda_std::{GlobalMut, kernel, math, thread};

/// Number of steps of the Collatz sequence from `start` to 1, at most 1000.
#[inline(never)]
pub fn collatz_steps(start: u32) -> u32 {
    let (mut value, mut steps) = (start, 0);
    while value > 1 && steps < 1000 {
        value = if value.is_multiple_of(2) { value / 2 } else { value.wrapping_mul(3).wrapping_add(1) };
        steps += 1;
    }
    steps
}

/// Mean and variance of four values, returned in memory that the caller provides.
#[inline(never)]
pub fn mean_and_variance(values: &[f32; 4]) -> [f32; 2] {
    let mean = (values[0] + values[1] + values[2] + values[3]) / 4.0;
    let mut squares = 0.0;
    for value in values {
        squares = math::fma(value - mean, value - mean, squares);
    }
    [mean, squares / 4.0]
}

/// Three elements of out for each x: the number of steps of the Collatz sequence from x, and the mean and variance of y, y + 1, 3 y
/// and 7, where y is x modulo 1024.
#[kernel]
pub fn calls(x: &[u32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let value = (x[i] % 1024) as f32;
        let [mean, variance] = mean_and_variance(&[value, value + 1.0, 3.0 * value, 7.0]);
        out.set(3 * i, collatz_steps(x[i]) as f32);
        out.set(3 * i + 1, mean);
        out.set(3 * i + 2, variance);
    }
}

/// Runs the program `codes` on the value `x[i]`: each code is one of eight operations; a higher code ends the program.
/// Thread i starts at code i modulo the program's length, so that the lanes of a warp diverge.
#[kernel]
pub fn interpreter(codes: &[u8], x: &[u32], out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < x.len() && !codes.is_empty() {
        let mut value = x[i];
        for code in i % codes.len()..codes.len() {
            match codes[code] {
                0 => value = value.wrapping_add(x[(i + 1) % x.len()]),
                1 => value = value.wrapping_mul(2_654_435_761),
                2 => value ^= value >> 15,
                3 => value = value.rotate_left(7),
                4 => value /= 3,
                5 => value = collatz_steps(value),
                6 => value = value.reverse_bits(),
                7 => out.set(i, value),
                _ => break,
            }
        }
        out.set(i, value);
    }
}
