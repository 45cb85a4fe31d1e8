//! The functions of `cuda_std::math`, written in the language that this compiler supports.

/// The source text. It has the same operations in the same order as `cuda_std`, so results have the
/// same bits.
pub(crate) const MATHEMATICS: &str = "
pub fn sqrt(x: f32) -> f32 { GpuFloat::sqrt(x) }
pub fn recip(x: f32) -> f32 { 1.0 / x }
pub fn exp(x: f32) -> f32 {
    if x.is_nan() { return x; }
    if x > 88.722_84 { return f32::INFINITY; }
    if x < -103.972_08 { return 0.0; }
    let n = fma(x, core::f32::consts::LOG2_E, 12_582_912.0) - 12_582_912.0;
    let r = fma(n, -0.693_359_4, x);
    let r = fma(n, 2.121_944_4e-4, r);
    let p = fma(1.987_569_2e-4, r, 1.398_199_9e-3);
    let p = fma(fma(p, r, 8.333_452e-3), r, 4.166_579_6e-2);
    let p = fma(fma(p, r, 1.666_666_5e-1), r, 0.5);
    let y = fma(p, r * r, r) + 1.0;
    let n = n as i32;
    let half = n / 2;
    y * power_of_two(half) * power_of_two(n - half)
}
fn power_of_two(n: i32) -> f32 { f32::from_bits(((n + 127) as u32) << 23) }
pub fn sigmoid(x: f32) -> f32 {
    let e = exp(-x.abs());
    let numerator = if x < 0.0 { e } else { 1.0 };
    numerator / (1.0 + e)
}
pub fn tanh(x: f32) -> f32 {
    let size = x.abs();
    if size < 0.625 {
        let z = x * x;
        let p = fma(-5.704_988_7e-3, z, 2.063_909e-2);
        let p = fma(fma(p, z, -5.373_971_5e-2), z, 1.333_144_2e-1);
        return fma(fma(p, z, -3.333_328e-1) * z, x, x);
    }
    let tail = 2.0 / (exp(2.0 * size) + 1.0);
    (1.0 - tail).copysign(x)
}
pub fn __powi<T>(x: T, n: i32) -> T {
    let (mut power, mut factor, mut rest) = (1.0, x, n.unsigned_abs());
    while rest > 0 {
        if rest % 2 == 1 { power *= factor; }
        factor *= factor;
        rest /= 2;
    }
    if n < 0 { 1.0 / power } else { power }
}
pub fn __remainder<T>(x: T, y: T) -> T {
    let (mut rest, size) = (x.abs(), y.abs());
    if !(size > 0.0) || !x.is_finite() { return 0.0 / (0.0 * x * y); }
    let mut multiple = size;
    while multiple + multiple <= rest { multiple += multiple; }
    while rest >= size {
        while multiple > rest { multiple *= 0.5; }
        rest -= multiple;
    }
    rest.copysign(x)
}
use cuda_std::math::{GpuFloat, fma};
";
