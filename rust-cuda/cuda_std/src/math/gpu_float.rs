//! The functions of floats that `std` has and `core` has not.

use core::ops::Deref;

/// The functions of floats that `std` has, with the same bits in the simulator and on a GPU: the crate `libm`'s, and the exact ones
/// by instructions. The toolchain's `docs/floats.md` lists the errors of each in units in the last place. `core` has the last five too.
///
/// In the body of a `#[kernel]`, `x.sin()` and the other methods are these without an import. In a function that a kernel calls,
/// write `GpuFloat::sin(x)`: on the host the compiler would take the method of `std`, whose last bits differ. Likewise
/// `GpuFloat::max(x, y)`: for 0 and −0 the host's `x.max(y)` may return either.
///
/// ```
/// use cuda_std::math::GpuFloat;
///
/// fn period(length: f32) -> f32 {
///     GpuFloat::sqrt(length / 9.81) * core::f32::consts::TAU
/// }
/// assert!((period(1.0) - 2.006).abs() < 1e-3);
/// ```
pub trait GpuFloat: Copy {
    /// The sine, of radians.
    fn sin(self) -> Self;
    /// The cosine, of radians.
    fn cos(self) -> Self;
    /// The tangent, of radians.
    fn tan(self) -> Self;
    /// The arcsine, in radians.
    fn asin(self) -> Self;
    /// The arccosine, in radians.
    fn acos(self) -> Self;
    /// The arctangent, in radians.
    fn atan(self) -> Self;
    /// The angle of the point (`x`, `self`), in radians.
    fn atan2(self, x: Self) -> Self;
    /// The sine and the cosine.
    fn sin_cos(self) -> (Self, Self);
    /// The hyperbolic sine.
    fn sinh(self) -> Self;
    /// The hyperbolic cosine.
    fn cosh(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// The inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// The inverse hyperbolic tangent.
    fn atanh(self) -> Self;
    /// A whole power, by repeated squaring.
    fn powi(self, n: i32) -> Self;
    /// A power.
    fn powf(self, n: Self) -> Self;
    /// eˣ
    fn exp(self) -> Self;
    /// 2ˣ
    fn exp2(self) -> Self;
    /// eˣ − 1, accurate near 0.
    fn exp_m1(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// ln(1 + x), accurate near 0.
    fn ln_1p(self) -> Self;
    /// The logarithm to a base, as the quotient of two natural ones.
    fn log(self, base: Self) -> Self;
    /// The logarithm to base 2.
    fn log2(self) -> Self;
    /// The logarithm to base 10.
    fn log10(self) -> Self;
    /// The square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// The cube root.
    fn cbrt(self) -> Self;
    /// √(x² + y²) without overflow.
    fn hypot(self, y: Self) -> Self;
    /// Rounded down.
    fn floor(self) -> Self;
    /// Rounded up.
    fn ceil(self) -> Self;
    /// Rounded to nearest, halves away from zero.
    fn round(self) -> Self;
    /// Rounded to nearest, halves to the even number.
    fn round_ties_even(self) -> Self;
    /// Rounded toward zero.
    fn trunc(self) -> Self;
    /// x − trunc(x)
    fn fract(self) -> Self;
    /// x · a + b with one rounding.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The quotient that is rounded so that `rem_euclid` is not negative.
    fn div_euclid(self, divisor: Self) -> Self;
    /// The remainder of that quotient, from 0 to |`divisor`|.
    fn rem_euclid(self, divisor: Self) -> Self;
    /// |x|; `core` has it too, as a method of the floats.
    fn abs(self) -> Self;
    /// 1 with the sign of x, NaN for NaN; in `core` too.
    fn signum(self) -> Self;
    /// |x| with the sign of `sign`; in `core` too.
    fn copysign(self, sign: Self) -> Self;
    /// The greater number; −0 is less than 0. If one is NaN, the other one (IEEE 754-2019, maximumNumber; `max.f32`).
    fn max(self, other: Self) -> Self;
    /// The lesser number; −0 is less than 0. If one is NaN, the other one (IEEE 754-2019, minimumNumber; `min.f32`).
    fn min(self, other: Self) -> Self;
}

/// A receiver of a method in a kernel's body: floats have the methods of [`GpuFloat`], other types their own.
///
/// A reference, because a receiver may be a `&mut f32` that is used again.
#[doc(hidden)]
pub struct OnGpu<'a, T>(pub &'a T);

impl<T> Deref for OnGpu<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.0
    }
}

/// A float or a reference to one.
#[doc(hidden)]
pub trait FloatReceiver {
    type Float: GpuFloat;

    fn float(&self) -> Self::Float;
}

macro_rules! receivers {
    ($($float:ident: $receiver:ty = |$x:ident| $value:expr;)*) => {$(
        impl FloatReceiver for $receiver {
            type Float = $float;

            #[inline(always)]
            fn float(&self) -> $float {
                let $x = self;
                $value
            }
        }
    )*};
}

receivers! {
    f32: f32 = |x| *x;
    f32: &f32 = |x| **x;
    f32: &mut f32 = |x| **x;
    f64: f64 = |x| *x;
    f64: &f64 = |x| **x;
    f64: &mut f64 = |x| **x;
}

/// Implements the trait for a float; for `F`, the methods of its receivers.
macro_rules! gpu_float {
    (F: $($name:ident($($argument:ident: $t:ty),*) -> $result:ty = |$this:ident| $body:expr;)*) => {
        impl<F: GpuFloat, R: FloatReceiver<Float = F>> OnGpu<'_, R> {
            $(
                #[doc(hidden)]
                #[inline(always)]
                #[must_use]
                pub fn $name(self, $($argument: $t),*) -> $result {
                    GpuFloat::$name(self.0.float(), $($argument),*)
                }
            )*
        }
    };
    ($float:ident: $($name:ident($($argument:ident: $t:ty),*) -> $result:ty = |$this:ident| $body:expr;)*) => {
        impl GpuFloat for $float {
            $(
                #[inline]
                fn $name(self, $($argument: $t),*) -> $result {
                    let $this = self;
                    $body
                }
            )*
        }
    };
}

/// An exact function: an instruction on a GPU.
macro_rules! exact {
    ($float:ident, $name:ident, $x:expr $(, $more:expr)*) => {{
        #[cfg(not(target_arch = "nvptx64"))]
        let result = <$float>::$name($x $(, $more)*);
        #[cfg(target_arch = "nvptx64")]
        let result = core::$float::math::$name($x $(, $more)*);
        result
    }};
}

/// The greater or lesser of two floats, by `core`'s method and on the host by an operator on the bits of equal floats.
macro_rules! extreme {
    ($float:ident, $name:ident, $x:expr, $other:expr, $of_equals:tt) => {{
        // Of 0 and −0 the host's may be either. On a GPU it is an instruction that orders them.
        #[cfg(not(target_arch = "nvptx64"))]
        if $x == $other {
            return $float::from_bits($x.to_bits() $of_equals $other.to_bits());
        }
        <$float>::$name($x, $other)
    }};
}

macro_rules! functions {
    ($float:ident: $sin:ident $cos:ident $tan:ident $asin:ident $acos:ident $atan:ident $atan2:ident $sinh:ident $cosh:ident $tanh:ident
     $asinh:ident $acosh:ident $atanh:ident $pow:ident $exp:ident $exp2:ident $expm1:ident $log:ident $log1p:ident $log2:ident
     $log10:ident $cbrt:ident $hypot:ident $round:ident $fmod:ident) => {
        gpu_float! { $float:
            sin() -> $float = |x| libm::$sin(x);
            cos() -> $float = |x| libm::$cos(x);
            tan() -> $float = |x| libm::$tan(x);
            asin() -> $float = |x| libm::$asin(x);
            acos() -> $float = |x| libm::$acos(x);
            atan() -> $float = |x| libm::$atan(x);
            atan2(other: $float) -> $float = |y| libm::$atan2(y, other);
            sin_cos() -> ($float, $float) = |x| (libm::$sin(x), libm::$cos(x));
            sinh() -> $float = |x| libm::$sinh(x);
            cosh() -> $float = |x| libm::$cosh(x);
            tanh() -> $float = |x| libm::$tanh(x);
            asinh() -> $float = |x| libm::$asinh(x);
            // libm's of some numbers below −1 is no NaN.
            acosh() -> $float = |x| if x < 1.0 { $float::NAN } else { libm::$acosh(x) };
            atanh() -> $float = |x| libm::$atanh(x);
            powi(n: i32) -> $float = |x| {
                let (mut power, mut factor, mut rest) = (1.0, x, n.unsigned_abs());
                while rest > 0 {
                    if rest % 2 == 1 {
                        power *= factor;
                    }
                    factor *= factor;
                    rest /= 2;
                }
                if n < 0 { 1.0 / power } else { power }
            };
            powf(n: $float) -> $float = |x| libm::$pow(x, n);
            exp() -> $float = |x| libm::$exp(x);
            exp2() -> $float = |x| libm::$exp2(x);
            exp_m1() -> $float = |x| libm::$expm1(x);
            ln() -> $float = |x| libm::$log(x);
            ln_1p() -> $float = |x| libm::$log1p(x);
            log(base: $float) -> $float = |x| libm::$log(x) / libm::$log(base);
            log2() -> $float = |x| libm::$log2(x);
            log10() -> $float = |x| libm::$log10(x);
            sqrt() -> $float = |x| exact!($float, sqrt, x);
            cbrt() -> $float = |x| libm::$cbrt(x);
            hypot(other: $float) -> $float = |x| libm::$hypot(x, other);
            floor() -> $float = |x| exact!($float, floor, x);
            ceil() -> $float = |x| exact!($float, ceil, x);
            round() -> $float = |x| libm::$round(x);
            round_ties_even() -> $float = |x| exact!($float, round_ties_even, x);
            trunc() -> $float = |x| exact!($float, trunc, x);
            fract() -> $float = |x| x - exact!($float, trunc, x);
            mul_add(a: $float, b: $float) -> $float = |x| exact!($float, mul_add, x, a, b);
            div_euclid(divisor: $float) -> $float = |x| {
                let quotient = exact!($float, trunc, x / divisor);
                if libm::$fmod(x, divisor) >= 0.0 {
                    quotient
                } else if divisor > 0.0 {
                    quotient - 1.0
                } else {
                    quotient + 1.0
                }
            };
            rem_euclid(divisor: $float) -> $float = |x| {
                let remainder = libm::$fmod(x, divisor);
                if remainder < 0.0 { remainder + divisor.abs() } else { remainder }
            };
            abs() -> $float = |x| <$float>::abs(x);
            signum() -> $float = |x| <$float>::signum(x);
            copysign(sign: $float) -> $float = |x| <$float>::copysign(x, sign);
            max(other: $float) -> $float = |x| extreme!($float, max, x, other, &);
            min(other: $float) -> $float = |x| extreme!($float, min, x, other, |);
        }
    };
}

functions! { f32: sinf cosf tanf asinf acosf atanf atan2f sinhf coshf tanhf asinhf acoshf atanhf powf expf exp2f expm1f logf log1pf log2f
log10f cbrtf hypotf roundf fmodf }
functions! { f64: sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh pow exp exp2 expm1 log log1p log2
log10 cbrt hypot round fmod }
functions! { F: sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh pow exp exp2 expm1 log log1p log2
log10 cbrt hypot round fmod }

#[cfg(test)]
mod tests {
    use super::*;

    /// Each function is near std's, whose last bits may differ.
    #[test]
    fn functions_are_near_those_of_std() {
        let near = |name: &str, x: f64, found: f64, std: f64| {
            let same = found == std || (found.is_nan() && std.is_nan());
            assert!(
                same || (found - std).abs() <= 4.0 * f64::EPSILON * std.abs().max(1e-300),
                "{name} of {x}: {found}, std has {std}"
            );
        };
        let mut x = -40.0_f64;
        while x < 40.0 {
            let u = x / 41.0;
            for (name, found, std) in [
                ("sin", GpuFloat::sin(x), x.sin()),
                ("cos", GpuFloat::cos(x), x.cos()),
                ("tan", GpuFloat::tan(x), x.tan()),
                ("asin", GpuFloat::asin(u), u.asin()),
                ("acos", GpuFloat::acos(u), u.acos()),
                ("atan", GpuFloat::atan(x), x.atan()),
                ("atan2", GpuFloat::atan2(x, 3.0), x.atan2(3.0)),
                ("sin_cos", GpuFloat::sin_cos(x).1, x.cos()),
                ("sinh", GpuFloat::sinh(x), x.sinh()),
                ("cosh", GpuFloat::cosh(x), x.cosh()),
                ("tanh", GpuFloat::tanh(x), x.tanh()),
                ("asinh", GpuFloat::asinh(x.abs()), libm::asinh(x.abs())),
                ("acosh", GpuFloat::acosh(x.abs() + 1.5), libm::acosh(x.abs() + 1.5)),
                ("atanh", GpuFloat::atanh(u), libm::atanh(u)),
                ("powi", GpuFloat::powi(x, 3), x * x * x),
                ("powi", GpuFloat::powi(x, -2), 1.0 / (x * x)),
                ("powf", GpuFloat::powf(x.abs(), 1.7), x.abs().powf(1.7)),
                ("exp", GpuFloat::exp(x), x.exp()),
                ("exp2", GpuFloat::exp2(x), x.exp2()),
                ("exp_m1", GpuFloat::exp_m1(x), x.exp_m1()),
                ("ln", GpuFloat::ln(x), x.ln()),
                ("ln_1p", GpuFloat::ln_1p(x), x.ln_1p()),
                ("log", GpuFloat::log(x.abs(), 3.0), x.abs().ln() / 3_f64.ln()),
                ("log2", GpuFloat::log2(x), x.log2()),
                ("log10", GpuFloat::log10(x), x.log10()),
                ("sqrt", GpuFloat::sqrt(x), x.sqrt()),
                ("cbrt", GpuFloat::cbrt(x), x.cbrt()),
                ("hypot", GpuFloat::hypot(x, 2.0), x.hypot(2.0)),
                ("floor", GpuFloat::floor(x), x.floor()),
                ("ceil", GpuFloat::ceil(x), x.ceil()),
                ("round", GpuFloat::round(x), x.round()),
                ("round_ties_even", GpuFloat::round_ties_even(x), x.round_ties_even()),
                ("trunc", GpuFloat::trunc(x), x.trunc()),
                ("fract", GpuFloat::fract(x), x.fract()),
                ("mul_add", GpuFloat::mul_add(x, x, 0.1), x.mul_add(x, 0.1)),
                ("div_euclid", GpuFloat::div_euclid(x, -0.7), x.div_euclid(-0.7)),
                ("rem_euclid", GpuFloat::rem_euclid(x, -0.7), x.rem_euclid(-0.7)),
                ("abs", GpuFloat::abs(x), x.abs()),
                ("signum", GpuFloat::signum(x), x.signum()),
                ("copysign", GpuFloat::copysign(x, -1.5), x.copysign(-1.5)),
            ] {
                near(name, x, found, std);
            }
            x += 0.0625;
        }
        assert_eq!([GpuFloat::round(2.5_f32), GpuFloat::round(-0.5_f32), GpuFloat::powi(0.0_f32, 0)], [3.0, -1.0, 1.0]);
        assert_eq!((GpuFloat::powi(2.0_f32, -3), GpuFloat::rem_euclid(-1.0_f32, 3.0)), (0.125, 2.0));
    }
}
