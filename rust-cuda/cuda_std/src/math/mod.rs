//! Arithmetic beyond `+ - * /`.
//!
//! The functions here are accurate, and give the same bits on a GPU and in the simulator. [`fast`] has the GPU's own
//! approximations, each one instruction.

pub mod fast;
mod gpu_float;
mod ln;
mod wide;

pub use gpu_float::GpuFloat;
#[doc(hidden)]
pub use gpu_float::OnGpu;
pub use ln::ln;
pub use wide::{to_i128, to_u128};

/// A type with a fused multiply-add and a square root: f32 and f64.
pub trait Float: Copy + sealed::Sealed {
    /// See [`fma`].
    #[doc(hidden)]
    fn fma(self, b: Self, c: Self) -> Self;

    /// See [`sqrt`].
    #[doc(hidden)]
    fn sqrt(self) -> Self;

    /// The same value.
    #[doc(hidden)]
    fn to_f64(self) -> f64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! floats {
    ($($float:ident)*) => {$(
        impl Float for $float {
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                #[cfg(not(target_arch = "nvptx64"))]
                return self.mul_add(b, c);
                #[cfg(target_arch = "nvptx64")]
                return core::$float::math::mul_add(self, b, c);
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                #[cfg(not(target_arch = "nvptx64"))]
                return <$float>::sqrt(self);
                #[cfg(target_arch = "nvptx64")]
                return core::$float::math::sqrt(self);
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    )*};
}

floats! { f32 f64 }

/// a · b + c with one rounding (`fma.rn`). `a * b + c` compiles to two instructions with two roundings.
#[inline(always)]
pub fn fma<F: Float>(a: F, b: F, c: F) -> F {
    a.fma(b, c)
}

/// The square root, correctly rounded (`sqrt.rn`).
#[inline(always)]
pub fn sqrt<F: Float>(x: F) -> F {
    x.sqrt()
}

/// The greater number, where −0 is less than 0; NaN if one is NaN (IEEE 754-2019, maximum). By one instruction from sm_80 on
/// (`max.NaN`).
///
/// ```
/// use cuda_std::math::maximum;
/// assert_eq!(maximum(-1.0, 0.5), 0.5);
/// assert!(maximum(0.0, -0.0).is_sign_positive());
/// assert!(maximum(f32::NAN, 0.0).is_nan());
/// ```
#[allow(unsafe_code)]
#[inline(always)]
pub fn maximum(a: f32, b: f32) -> f32 {
    #[cfg(target_feature = "sm_80")]
    {
        let result: f32;
        // SAFETY: the instruction only reads its operands.
        unsafe {
            core::arch::asm!(
                "max.NaN.f32 {0}, {1}, {2};", out(reg32) result, in(reg32) a, in(reg32) b,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        result
    }
    #[cfg(not(target_feature = "sm_80"))]
    if a.is_nan() || b.is_nan() { f32::NAN } else { GpuFloat::max(a, b) }
}

/// Four of the eight bytes of two words (`prmt`): those of `lower` have the numbers 0 to 3, from its lowest bits on, those of `upper` 4 to 7.
/// Each four bits of `selector` are the number of a byte of the result, from its lowest bits on; their highest bit is ignored.
///
/// ```
/// assert_eq!(cuda_std::math::byte_permute(0x4433_2211, 0x8877_6655, 0x7610), 0x8877_2211);
/// ```
#[allow(unsafe_code)]
#[inline(always)]
pub fn byte_permute(lower: u32, upper: u32, selector: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bytes: u32;
        // SAFETY: the instruction moves bytes of registers and accesses no memory.
        unsafe {
            core::arch::asm!(
                "prmt.b32 {0}, {1}, {2}, {3};",
                out(reg32) bytes, in(reg32) lower, in(reg32) upper, in(reg32) selector & 0x7777,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        bytes
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let bytes = (u64::from(upper) << 32 | u64::from(lower)).to_le_bytes();
        u32::from_le_bytes([0, 4, 8, 12].map(|shift| bytes[(selector >> shift & 7) as usize]))
    }
}

/// 1 / x, correctly rounded.
#[inline(always)]
pub fn recip(x: f32) -> f32 {
    1.0 / x
}

/// eˣ within 1.5 units in the last place.
///
/// With n the integer nearest x / ln 2, eˣ = 2ⁿ · eʳ where |r| ≤ ½ ln 2. The polynomial for eʳ is that of `expf.c` in
/// the Cephes library, <https://www.netlib.org/cephes/>.
#[inline]
pub fn exp(x: f32) -> f32 {
    if x.is_nan() {
        return x;
    }
    if x > 88.722_84 {
        return f32::INFINITY;
    }
    if x < -103.972_08 {
        return 0.0;
    }
    // Adding 1.5 · 2²³ rounds to an integer: an f32 of that size has no fraction bits.
    const ROUND: f32 = 12_582_912.0;
    let n = fma(x, core::f32::consts::LOG2_E, ROUND) - ROUND;
    // ln 2 is split in two parts; the first has few enough bits that its product with n is exact.
    let r = fma(n, -0.693_359_4, x);
    let r = fma(n, 2.121_944_4e-4, r);
    let mut p = 1.987_569_2e-4;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = fma(p, r, coefficient);
    }
    let y = fma(p, r * r, r) + 1.0;
    // 2ⁿ as two factors: n may be 128, or less than −126, which are no exponents of normal numbers.
    let n = n as i32;
    let half = n / 2;
    y * power_of_two(half) * power_of_two(n - half)
}

/// 2ⁿ for −126 ≤ n ≤ 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

/// The logistic sigmoid 1 / (1 + e⁻ˣ) within 3 units in the last place.
///
/// Computed from e⁻|ˣ|, which never overflows.
#[inline]
pub fn sigmoid(x: f32) -> f32 {
    let e = exp(-x.abs());
    let numerator = if x < 0.0 { e } else { 1.0 };
    numerator / (1.0 + e)
}

/// The hyperbolic tangent within 2 units in the last place.
///
/// A polynomial near zero (Cephes, `tanhf.c`), elsewhere 1 − 2 / (e²ˣ + 1).
#[inline]
pub fn tanh(x: f32) -> f32 {
    let size = x.abs();
    if size < 0.625 {
        let z = x * x;
        let mut p = -5.704_988_7e-3;
        for coefficient in [2.063_909e-2, -5.373_971_5e-2, 1.333_144_2e-1, -3.333_328e-1] {
            p = fma(p, z, coefficient);
        }
        return fma(p * z, x, x);
    }
    let tail = 2.0 / (exp(2.0 * size) + 1.0);
    (1.0 - tail).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance of `value` from `exact` in units in the last place of the f32 nearest `exact`.
    fn error_in_ulps(value: f32, exact: f64) -> f64 {
        let nearest = exact as f32;
        let unit = f64::from(f32::from_bits(nearest.abs().to_bits() + 1)) - f64::from(nearest.abs());
        (f64::from(value) - exact).abs() / unit
    }

    #[test]
    fn exp_tanh_and_sigmoid_are_accurate() {
        let (mut worst_exp, mut worst_tanh, mut worst_sigmoid) = (0f64, 0f64, 0f64);
        for step in -870_000..880_000 {
            let x = step as f32 * 1e-4;
            worst_exp = worst_exp.max(error_in_ulps(exp(x), f64::from(x).exp()));
            worst_sigmoid = worst_sigmoid.max(error_in_ulps(sigmoid(x), 1.0 / (1.0 + (-f64::from(x)).exp())));
            let x = x * 0.2;
            worst_tanh = worst_tanh.max(error_in_ulps(tanh(x), f64::from(x).tanh()));
        }
        assert!(worst_exp <= 1.5, "exp: {worst_exp} ulp");
        assert!(worst_tanh <= 2.0, "tanh: {worst_tanh} ulp");
        assert!(worst_sigmoid <= 3.0, "sigmoid: {worst_sigmoid} ulp");
    }

    #[test]
    fn edge_cases() {
        assert_eq!(
            [exp(f32::INFINITY), exp(89.0), exp(f32::NEG_INFINITY), exp(-110.0)],
            [f32::INFINITY, f32::INFINITY, 0.0, 0.0]
        );
        assert!(exp(f32::NAN).is_nan() && tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
        assert_eq!([sigmoid(0.0), sigmoid(200.0), sigmoid(f32::NEG_INFINITY)], [0.5, 1.0, 0.0]);
        assert_eq!((exp(0.0), tanh(0.0), tanh(50.0), tanh(f32::NEG_INFINITY)), (1.0, 0.0, 1.0, -1.0));
        assert!(exp(-100.0) > 0.0);
    }
}
