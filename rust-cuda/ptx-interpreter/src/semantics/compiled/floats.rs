//! Loops of arithmetic on f32 and f64, rounding to nearest.

use super::element::Element;
use super::lane_loop::each_lane;
use crate::semantics::table::Table;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Adds the loops to the table.
pub(super) fn loops(table: &mut Table) {
    arithmetic::<f32, false>(table, "", "f32");
    arithmetic::<f32, true>(table, ".ftz", "f32");
    arithmetic::<f64, false>(table, "", "f64");
    approximations::<false>(table, "");
    approximations::<true>(table, ".ftz");
    table.compile("copysign.f32", each_lane!(|a: f32, b: f32| b.copysign(a)));
    table.compile("tanh.approx.f32", each_lane!(|a: f32| (libm::tanh(f64::from(a)) as f32).canonical()));
}

fn arithmetic<T: Native, const FTZ: bool>(table: &mut Table, ftz: &str, t: &str) {
    let with_default = |opcode: &str| format!("{opcode}{ftz}.{t} {opcode}.rn{ftz}.{t}");
    let add = each_lane!(|a: T, b: T| result::<T, FTZ>(operand::<T, FTZ>(a) + operand::<T, FTZ>(b)));
    table.compile(with_default("add"), add);
    let sub = each_lane!(|a: T, b: T| result::<T, FTZ>(operand::<T, FTZ>(a) - operand::<T, FTZ>(b)));
    table.compile(with_default("sub"), sub);
    let mul = each_lane!(|a: T, b: T| result::<T, FTZ>(operand::<T, FTZ>(a) * operand::<T, FTZ>(b)));
    table.compile(with_default("mul"), mul);
    let fused = each_lane!(|a: T, b: T, c: T| {
        result::<T, FTZ>(operand::<T, FTZ>(a).multiply_add(operand::<T, FTZ>(b), operand::<T, FTZ>(c)))
    });
    table.compile(format!("fma.rn{ftz}.{t} mad.rn{ftz}.{t}"), fused);
    table.compile(format!("div.rn{ftz}.{t}"), each_lane!(|a: T, b: T| quotient::<T, FTZ>(a, b)));
    table.compile(format!("rcp.rn{ftz}.{t}"), each_lane!(|a: T| quotient::<T, FTZ>(T::ONE, a)));
    table.compile(format!("sqrt.rn{ftz}.{t}"), each_lane!(|a: T| result::<T, FTZ>(operand::<T, FTZ>(a).square_root())));
    table.compile(format!("neg{ftz}.{t}"), each_lane!(|a: T| -operand::<T, FTZ>(a)));
    table.compile(format!("abs{ftz}.{t}"), each_lane!(|a: T| operand::<T, FTZ>(a).magnitude()));
    let min = each_lane!(|a: T, b: T| minimum(operand::<T, FTZ>(a), operand::<T, FTZ>(b)));
    table.compile(format!("min{ftz}.{t}"), min);
    let max = each_lane!(|a: T, b: T| maximum(operand::<T, FTZ>(a), operand::<T, FTZ>(b)));
    table.compile(format!("max{ftz}.{t}"), max);
}

fn approximations<const FTZ: bool>(table: &mut Table, ftz: &str) {
    let name = |opcode: &str| format!("{opcode}.approx{ftz}.f32");
    table.compile(name("rcp"), each_lane!(|a: f32| quotient::<f32, FTZ>(1.0, a)));
    table.compile(name("sqrt"), each_lane!(|a: f32| result::<f32, FTZ>(operand::<f32, FTZ>(a).sqrt())));
    let rsqrt = each_lane!(|a: f32| result::<f32, FTZ>((1.0 / f64::from(operand::<f32, FTZ>(a)).sqrt()) as f32));
    table.compile(name("rsqrt"), rsqrt);
    let ex2 = each_lane!(|a: f32| result::<f32, FTZ>(libm::exp2(f64::from(operand::<f32, FTZ>(a))) as f32));
    table.compile(name("ex2"), ex2);
    table.compile(format!("div.full{ftz}.f32"), each_lane!(|a: f32, b: f32| quotient::<f32, FTZ>(a, b)));
}

/// A format that the host can compute with.
pub(super) trait Native:
    Element
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    const ONE: Self;
    fn multiply_add(self, b: Self, c: Self) -> Self;
    fn square_root(self) -> Self;
    fn magnitude(self) -> Self;
    fn is_negative(self) -> bool;
    fn is_nan(self) -> bool;
    /// Replaces every NaN with the canonical one. Other values are unchanged.
    fn canonical(self) -> Self;
    /// Replaces a subnormal number with zero of the same sign. Other values are unchanged.
    fn flushed(self) -> Self;
}

macro_rules! natives {
    ($($type:ident, $nan:literal;)*) => {$(
        impl Native for $type {
            const ONE: Self = 1.0;

            #[inline(always)]
            fn multiply_add(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }

            #[inline(always)]
            fn square_root(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                $type::is_nan(self)
            }

            #[inline(always)]
            fn canonical(self) -> Self {
                // Works on the bits: the compiler does not distinguish NaNs and may drop a choice
                // between two of them.
                let bits = self.to_bits();
                let is_nan = bits << 1 > $type::INFINITY.to_bits() << 1;
                $type::from_bits(if is_nan { $nan } else { bits })
            }

            #[inline(always)]
            fn flushed(self) -> Self {
                if self.abs() < $type::MIN_POSITIVE { (0.0 as $type).copysign(self) } else { self }
            }
        }
    )*};
}

natives! {
    f32, 0x7fff_ffff;
    f64, 0x7ff8_0000_0000_0000;
}

#[inline(always)]
fn operand<T: Native, const FTZ: bool>(value: T) -> T {
    if FTZ { value.flushed() } else { value }
}

#[inline(always)]
fn result<T: Native, const FTZ: bool>(value: T) -> T {
    operand::<T, FTZ>(value.canonical())
}

#[inline(always)]
fn quotient<T: Native, const FTZ: bool>(a: T, b: T) -> T {
    result::<T, FTZ>(operand::<T, FTZ>(a) / operand::<T, FTZ>(b))
}

/// The lesser operand, with −0 less than +0. If one is NaN, the other one.
#[inline(always)]
fn minimum<T: Native>(a: T, b: T) -> T {
    let first = a < b || (a == b && a.is_negative()) || b.is_nan();
    if first { a } else { b }.canonical()
}

/// The greater operand, with +0 greater than −0. If one is NaN, the other one.
#[inline(always)]
fn maximum<T: Native>(a: T, b: T) -> T {
    let first = a > b || (a == b && !a.is_negative()) || b.is_nan();
    if first { a } else { b }.canonical()
}
