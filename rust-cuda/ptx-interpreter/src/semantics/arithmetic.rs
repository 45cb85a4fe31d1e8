//! Arithmetic on f32 and f64 (PTX ISA 9.7.3), except the approximations.
//!
//! `.rn` is bit-exact IEEE 754. A NaN result is 0x7fffffff in f32 and 0x7ff8000000000000 in f64, whatever the operands'
//! payload; PTX leaves it unspecified. `.ftz` flushes the rounded result.

use super::float::Float;
use super::modifiers::{Ftz, Modifiers, Rm, Rn, Rp, Rz, Sat};
use super::operand_type::{F32, F64, OperandType, operation, predicate};
use super::rounding::{self, Mode};
use super::table::Table;
use std::ops::{Add, Div, Mul};

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    single::<Rn>(table, "");
    single::<Rn>(table, ".rn");
    single::<Rz>(table, ".rz");
    single::<Rm>(table, ".rm");
    single::<Rp>(table, ".rp");
    double::<Rn>(table, "");
    double::<Rn>(table, ".rn");
    double::<Rz>(table, ".rz");
    double::<Rm>(table, ".rm");
    double::<Rp>(table, ".rp");

    sign_and_extremes::<Rn>(table, "");
    sign_and_extremes::<Ftz<Rn>>(table, ".ftz");
    table.add("neg.f64", operation!(F64, negate::<f64, Rn>: (F64) -> F64));
    table.add("abs.f64", operation!(F64, absolute::<f64, Rn>: (F64) -> F64));
    table.add("min.f64", operation!(F64, minimum::<f64, Rn>: (F64, F64) -> F64));
    table.add("max.f64", operation!(F64, maximum::<f64, Rn>: (F64, F64) -> F64));
    table.add("copysign.f32", operation!(F32, copy_sign: (F32, F32) -> F32));
    table.add("copysign.f64", operation!(F64, copy_sign: (F64, F64) -> F64));

    tests::<F32>(table);
    tests::<F64>(table);
}

/// The forms of f32 with this rounding, with and without `.ftz` and `.sat`.
fn single<R: Modifiers>(table: &mut Table, rounding: &str) {
    single_saturating::<R>(table, rounding);
    single_saturating::<Ftz<R>>(table, &format!("{rounding}.ftz"));
    single_saturating::<Sat<R>>(table, &format!("{rounding}.sat"));
    single_saturating::<Sat<Ftz<R>>>(table, &format!("{rounding}.ftz.sat"));
    if !rounding.is_empty() {
        single_quotients::<R>(table, rounding);
        single_quotients::<Ftz<R>>(table, &format!("{rounding}.ftz"));
    }
}

fn single_saturating<M: Modifiers>(table: &mut Table, modifiers: &str) {
    table.add(format!("add{modifiers}.f32"), operation!(F32, add::<f32, M>: (F32, F32) -> F32));
    table.add(format!("sub{modifiers}.f32"), operation!(F32, subtract::<f32, M>: (F32, F32) -> F32));
    table.add(format!("mul{modifiers}.f32"), operation!(F32, multiply::<f32, M>: (F32, F32) -> F32));
    // PTX requires a rounding modifier for fma, and for mad from sm_20 on, where mad equals fma.
    if modifiers.starts_with(".r") {
        let fused = operation!(F32, multiply_add::<f32, M>: (F32, F32, F32) -> F32);
        table.add(format!("fma{modifiers}.f32"), fused);
        table.add(format!("mad{modifiers}.f32"), fused);
    }
}

fn single_quotients<M: Modifiers>(table: &mut Table, modifiers: &str) {
    table.add(format!("div{modifiers}.f32"), operation!(F32, divide::<f32, M>: (F32, F32) -> F32));
    table.add(format!("rcp{modifiers}.f32"), operation!(F32, reciprocal::<f32, M>: (F32) -> F32));
    table.add(format!("sqrt{modifiers}.f32"), operation!(F32, square_root::<f32, M>: (F32) -> F32));
}

fn double<R: Modifiers>(table: &mut Table, rounding: &str) {
    table.add(format!("add{rounding}.f64"), operation!(F64, add::<f64, R>: (F64, F64) -> F64));
    table.add(format!("sub{rounding}.f64"), operation!(F64, subtract::<f64, R>: (F64, F64) -> F64));
    table.add(format!("mul{rounding}.f64"), operation!(F64, multiply::<f64, R>: (F64, F64) -> F64));
    if !rounding.is_empty() {
        let fused = operation!(F64, multiply_add::<f64, R>: (F64, F64, F64) -> F64);
        table.add(format!("fma{rounding}.f64"), fused);
        table.add(format!("mad{rounding}.f64"), fused);
        table.add(format!("div{rounding}.f64"), operation!(F64, divide::<f64, R>: (F64, F64) -> F64));
        table.add(format!("rcp{rounding}.f64"), operation!(F64, reciprocal::<f64, R>: (F64) -> F64));
        table.add(format!("sqrt{rounding}.f64"), operation!(F64, square_root::<f64, R>: (F64) -> F64));
    }
}

fn sign_and_extremes<M: Modifiers>(table: &mut Table, ftz: &str) {
    table.add(format!("neg{ftz}.f32"), operation!(F32, negate::<f32, M>: (F32) -> F32));
    table.add(format!("abs{ftz}.f32"), operation!(F32, absolute::<f32, M>: (F32) -> F32));
    table.add(format!("min{ftz}.f32"), operation!(F32, minimum::<f32, M>: (F32, F32) -> F32));
    table.add(format!("max{ftz}.f32"), operation!(F32, maximum::<f32, M>: (F32, F32) -> F32));
    table.add(format!("min{ftz}.NaN.f32"), operation!(F32, minimum_nan::<f32, M>: (F32, F32) -> F32));
    table.add(format!("max{ftz}.NaN.f32"), operation!(F32, maximum_nan::<f32, M>: (F32, F32) -> F32));
    let xorsign = format!("{ftz}.xorsign.abs");
    table.add(format!("min{xorsign}.f32"), operation!(F32, minimum_xorsign::<f32, M>: (F32, F32) -> F32));
    table.add(format!("max{xorsign}.f32"), operation!(F32, maximum_xorsign::<f32, M>: (F32, F32) -> F32));
    let xorsign = format!("{ftz}.NaN.xorsign.abs");
    table.add(format!("min{xorsign}.f32"), operation!(F32, minimum_nan_xorsign::<f32, M>: (F32, F32) -> F32));
    table.add(format!("max{xorsign}.f32"), operation!(F32, maximum_nan_xorsign::<f32, M>: (F32, F32) -> F32));
}

fn tests<T: OperandType<Value: NativeFloat>>(table: &mut Table) {
    let name = T::NAME;
    table.add(format!("testp.finite{name}"), predicate!(NativeFloat::is_finite: (T)));
    table.add(format!("testp.infinite{name}"), predicate!(is_infinite: (T)));
    table.add(format!("testp.number{name}"), predicate!(is_number: (T)));
    table.add(format!("testp.notanumber{name}"), predicate!(Float::is_nan: (T)));
    table.add(format!("testp.normal{name}"), predicate!(is_normal: (T)));
    table.add(format!("testp.subnormal{name}"), predicate!(Float::is_subnormal: (T)));
}

/// A format in which the host computes, rounding to nearest.
pub(super) trait NativeFloat: Float + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    fn multiply_add(self, b: Self, c: Self) -> Self;
    fn square_root(self) -> Self;
    fn is_finite(self) -> bool;
}

macro_rules! natives {
    ($($type:ident),*) => {$(
        impl NativeFloat for $type {
            #[inline(always)]
            fn multiply_add(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }

            #[inline(always)]
            fn square_root(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                $type::is_finite(self)
            }
        }
    )*};
}

natives!(f32, f64);

#[inline(always)]
fn add<T: NativeFloat, M: Modifiers>(a: T, b: T) -> T {
    let (a, b) = (M::operand(a), M::operand(b));
    M::result(match M::MODE {
        Mode::Nearest => a + b,
        mode => T::from_f64(rounding::add(a.to_f64(), b.to_f64(), mode, T::FORMAT)),
    })
}

#[inline(always)]
fn subtract<T: NativeFloat, M: Modifiers>(a: T, b: T) -> T {
    add::<T, M>(a, b.with_sign(!b.is_negative()))
}

#[inline(always)]
fn multiply<T: NativeFloat, M: Modifiers>(a: T, b: T) -> T {
    let (a, b) = (M::operand(a), M::operand(b));
    M::result(match M::MODE {
        Mode::Nearest => a * b,
        mode => T::from_f64(rounding::multiply(a.to_f64(), b.to_f64(), mode, T::FORMAT)),
    })
}

#[inline(always)]
fn multiply_add<T: NativeFloat, M: Modifiers>(a: T, b: T, c: T) -> T {
    let (a, b, c) = (M::operand(a), M::operand(b), M::operand(c));
    M::result(match M::MODE {
        Mode::Nearest => a.multiply_add(b, c),
        mode => T::from_f64(rounding::multiply_add(a.to_f64(), b.to_f64(), c.to_f64(), mode, T::FORMAT)),
    })
}

#[inline(always)]
pub(super) fn divide<T: NativeFloat, M: Modifiers>(a: T, b: T) -> T {
    let (a, b) = (M::operand(a), M::operand(b));
    M::result(match M::MODE {
        Mode::Nearest => a / b,
        mode => T::from_f64(rounding::divide(a.to_f64(), b.to_f64(), mode, T::FORMAT)),
    })
}

#[inline(always)]
pub(super) fn reciprocal<T: NativeFloat, M: Modifiers>(a: T) -> T {
    divide::<T, M>(T::ONE, a)
}

/// √a; −0 for −0, NaN for negative operands.
#[inline(always)]
pub(super) fn square_root<T: NativeFloat, M: Modifiers>(a: T) -> T {
    let a = M::operand(a);
    M::result(match M::MODE {
        Mode::Nearest => a.square_root(),
        mode => T::from_f64(rounding::square_root(a.to_f64(), mode, T::FORMAT)),
    })
}

/// Flips the sign bit; a NaN keeps its payload.
#[inline(always)]
pub(super) fn negate<T: Float, M: Modifiers>(a: T) -> T {
    let a = M::operand(a);
    a.with_sign(!a.is_negative())
}

/// Clears the sign bit; a NaN keeps its payload.
#[inline(always)]
pub(super) fn absolute<T: Float, M: Modifiers>(a: T) -> T {
    M::operand(a).with_sign(false)
}

/// The lesser operand, where −0 is less than +0. If one is NaN, the other one.
#[inline(always)]
pub(super) fn minimum<T: Float, M: Modifiers>(a: T, b: T) -> T {
    let (a, b) = (M::operand(a), M::operand(b));
    let (x, y) = (a.native(), b.native());
    let first = x < y || (x == y && a.is_negative()) || b.is_nan();
    if first { a } else { b }.canonical()
}

/// The greater operand, where +0 is greater than −0. If one is NaN, the other one.
#[inline(always)]
pub(super) fn maximum<T: Float, M: Modifiers>(a: T, b: T) -> T {
    let (a, b) = (M::operand(a), M::operand(b));
    let (x, y) = (a.native(), b.native());
    let first = x > y || (x == y && !a.is_negative()) || b.is_nan();
    if first { a } else { b }.canonical()
}

/// With `.NaN`: NaN if an operand is.
#[inline(always)]
pub(super) fn minimum_nan<T: Float, M: Modifiers>(a: T, b: T) -> T {
    if a.is_nan() || b.is_nan() { T::NAN } else { minimum::<T, M>(a, b) }
}

/// With `.NaN`: NaN if an operand is.
#[inline(always)]
pub(super) fn maximum_nan<T: Float, M: Modifiers>(a: T, b: T) -> T {
    if a.is_nan() || b.is_nan() { T::NAN } else { maximum::<T, M>(a, b) }
}

/// With `.xorsign.abs`: `function` of the magnitudes, with the sign of the operands' product unless it is NaN.
#[inline(always)]
fn xorsign<T: Float>(a: T, b: T, function: impl Fn(T, T) -> T) -> T {
    let magnitude = function(a.with_sign(false), b.with_sign(false));
    if magnitude.is_nan() { T::NAN } else { magnitude.with_sign(a.is_negative() != b.is_negative()) }
}

#[inline(always)]
pub(super) fn minimum_xorsign<T: Float, M: Modifiers>(a: T, b: T) -> T {
    xorsign(a, b, minimum::<T, M>)
}

#[inline(always)]
pub(super) fn maximum_xorsign<T: Float, M: Modifiers>(a: T, b: T) -> T {
    xorsign(a, b, maximum::<T, M>)
}

#[inline(always)]
pub(super) fn minimum_nan_xorsign<T: Float, M: Modifiers>(a: T, b: T) -> T {
    xorsign(a, b, minimum_nan::<T, M>)
}

#[inline(always)]
pub(super) fn maximum_nan_xorsign<T: Float, M: Modifiers>(a: T, b: T) -> T {
    xorsign(a, b, maximum_nan::<T, M>)
}

/// b with the sign of a, PTX's order of operands.
#[inline(always)]
fn copy_sign<T: Float>(a: T, b: T) -> T {
    b.with_sign(a.is_negative())
}

#[inline(always)]
fn is_infinite<T: NativeFloat>(a: T) -> bool {
    !a.is_finite() && !a.is_nan()
}

#[inline(always)]
fn is_number<T: NativeFloat>(a: T) -> bool {
    !a.is_nan()
}

/// PTX counts zero as normal.
#[inline(always)]
fn is_normal<T: NativeFloat>(a: T) -> bool {
    a.is_finite() && !a.is_subnormal()
}
