//! Arithmetic on floats (PTX ISA 9.7.3 and 9.7.4), scalar and packed, except approximations.
//!
//! `.rn` is bit-exact IEEE 754. A NaN result is the canonical NaN of its format, whatever the
//! operands' payload; PTX leaves it unspecified. `.ftz` flushes the rounded result.
//!
//! A sum, product, quotient or root in f64 is rounded again to the format. This is innocuous
//! because f64 has at least twice the bits of f32, f16 and bf16 plus two (Figueroa, "When is double
//! rounding innocuous?", 1995).

use super::Class;
use super::definition::{Definition, Function};
use super::float::Format;
use super::modifiers::{Modifiers, ROUNDINGS, name_if};
use super::rounding::{self, Mode};
use super::table::Table;
use crate::syntax::ScalarType::{self, Bf16, Bf16x2, F16, F16x2, F32, F64, Pred};

/// A function on values of a format, before rounding to nearest.
type FloatFunction = fn(&Modifiers, Format, [f64; 4]) -> f64;

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    for t in [F32, F64, F16, F16x2, Bf16, Bf16x2] {
        rounded(table, t);
        sign_and_extremes(table, t);
    }
    for t in [F32, F64] {
        let copy_sign = Function::FloatBits(|format, [a, b]| format.magnitude(b) | a & format.sign());
        table.add(format!("copysign.{}", t.name()), Definition::new(class(t), copy_sign, t, &[t, t]));
        tests(table, t);
    }
}

/// The class of arithmetic on a type.
pub(super) fn class(t: ScalarType) -> Class {
    match t {
        F32 => Class::F32,
        F64 => Class::F64,
        _ => Class::Half,
    }
}

/// Whether arithmetic on the type has `.ftz`. The same types have `.sat`, except in `min` and
/// `max`.
fn has_ftz(t: ScalarType) -> bool {
    matches!(t, F32 | F16 | F16x2)
}

/// The forms with rounded results.
fn rounded(table: &mut Table, t: ScalarType) {
    let without_rounding = [("", Mode::Nearest)];
    let modes = if class(t) == Class::Half { &ROUNDINGS[..1] } else { &ROUNDINGS[..] };
    for &(rounding, mode) in without_rounding.iter().chain(modes) {
        for (flush, saturate) in [(false, false), (true, false), (false, true), (true, true)] {
            if !has_ftz(t) && (flush || saturate) {
                continue;
            }
            let modifiers = Modifiers { flush, saturate, ..Modifiers::rounding(mode) };
            let names = [rounding, name_if(flush, ".ftz"), name_if(saturate, ".sat")].concat();
            with_modifiers(table, t, &names, modifiers);
        }
        if class(t) == Class::Half && !rounding.is_empty() {
            fused_rectified(table, t, rounding);
        }
    }
}

fn with_modifiers(table: &mut Table, t: ScalarType, names: &str, modifiers: Modifiers) {
    let mut add = |opcode: &str, sources: usize, function: FloatFunction| {
        let definition = Definition::new(class(t), Function::Float(function), t, &[t; 3][..sources]);
        table.add(format!("{opcode}{names}.{}", t.name()), definition.with(modifiers));
    };
    add("add", 2, |modifiers, format, [a, b, ..]| sum(modifiers, format, a, b));
    add("sub", 2, |modifiers, format, [a, b, ..]| sum(modifiers, format, a, -b));
    add("mul", 2, product);
    // PTX requires a rounding modifier for fma. It also does for mad from sm_20 on, where mad
    // equals fma.
    if !names.starts_with(".r") {
        return;
    }
    add("fma", 3, fused);
    if class(t) == Class::Half {
        return;
    }
    add("mad", 3, fused);
    if !modifiers.saturate {
        add("div", 2, |modifiers, format, [a, b, ..]| quotient(modifiers, format, a, b));
        add("rcp", 1, |modifiers, format, [a, ..]| quotient(modifiers, format, 1.0, a));
        add("sqrt", 1, square_root);
    }
}

/// `fma` with `.relu`, for halves.
fn fused_rectified(table: &mut Table, t: ScalarType, rounding: &str) {
    for flush in [false, true] {
        if flush && !has_ftz(t) {
            continue;
        }
        let definition = Definition::new(Class::Half, Function::Float(fused), t, &[t; 3]);
        let name = format!("fma{rounding}{}.relu.{}", name_if(flush, ".ftz"), t.name());
        table.add(name, definition.with(Modifiers { relu: true, ..Modifiers::flush(flush) }));
    }
}

fn sign_and_extremes(table: &mut Table, t: ScalarType) {
    for flush in [false, true] {
        if flush && !has_ftz(t) {
            continue;
        }
        let ftz = name_if(flush, ".ftz");
        let mut add = |opcode: &str, names: &str, sources: usize, function: Function| {
            let definition = Definition::new(class(t), function, t, &[t; 2][..sources]);
            table.add(format!("{opcode}{ftz}{names}.{}", t.name()), definition.with(Modifiers::flush(flush)));
        };
        // Flips or clears the sign bit. A NaN keeps its payload.
        add("neg", "", 1, Function::FloatBits(|format, [a, _]| a ^ format.sign()));
        add("abs", "", 1, Function::FloatBits(|format, [a, _]| format.magnitude(a)));
        add("min", "", 2, Function::Float(|_, _, [a, b, ..]| minimum(a, b)));
        add("max", "", 2, Function::Float(|_, _, [a, b, ..]| maximum(a, b)));
        if t == F64 {
            continue;
        }
        add("min", ".NaN", 2, Function::Float(|_, _, [a, b, ..]| or_nan(a, b, minimum)));
        add("max", ".NaN", 2, Function::Float(|_, _, [a, b, ..]| or_nan(a, b, maximum)));
        let name = ".xorsign.abs";
        add("min", name, 2, Function::Float(|_, _, [a, b, ..]| xorsign(a, b, minimum)));
        add("max", name, 2, Function::Float(|_, _, [a, b, ..]| xorsign(a, b, maximum)));
        let name = ".NaN.xorsign.abs";
        add("min", name, 2, Function::Float(|_, _, [a, b, ..]| xorsign(a, b, |a, b| or_nan(a, b, minimum))));
        add("max", name, 2, Function::Float(|_, _, [a, b, ..]| xorsign(a, b, |a, b| or_nan(a, b, maximum))));
    }
}

fn tests(table: &mut Table, t: ScalarType) {
    let mut add = |name: &str, test: fn(Format, u64) -> bool| {
        let definition = Definition::new(Class::Compare, Function::Test(test), Pred, &[t]);
        table.add(format!("testp.{name}.{}", t.name()), definition);
    };
    add("finite", |format, a| !format.is_infinite(a) && !format.is_nan(a));
    add("infinite", Format::is_infinite);
    add("number", |format, a| !format.is_nan(a));
    add("notanumber", Format::is_nan);
    // PTX counts zero as normal.
    add("normal", |format, a| !format.is_infinite(a) && !format.is_nan(a) && !format.is_subnormal(a));
    add("subnormal", Format::is_subnormal);
}

fn sum(modifiers: &Modifiers, format: Format, a: f64, b: f64) -> f64 {
    match modifiers.rounding {
        Mode::Nearest => a + b,
        mode => rounding::add(a, b, mode, format),
    }
}

fn product(modifiers: &Modifiers, format: Format, [a, b, ..]: [f64; 4]) -> f64 {
    match modifiers.rounding {
        Mode::Nearest => a * b,
        mode => rounding::multiply(a, b, mode, format),
    }
}

/// a × b + c, rounded once.
fn fused(modifiers: &Modifiers, format: Format, [a, b, c, _]: [f64; 4]) -> f64 {
    match modifiers.rounding {
        Mode::Nearest if format == Format::F64 => a.mul_add(b, c),
        // The product is exact in f64, and the sum is rounded to odd.
        Mode::Nearest => rounding::sum_to_odd(a * b, c),
        mode => rounding::multiply_add(a, b, c, mode, format),
    }
}

pub(super) fn quotient(modifiers: &Modifiers, format: Format, a: f64, b: f64) -> f64 {
    match modifiers.rounding {
        Mode::Nearest => a / b,
        mode => rounding::divide(a, b, mode, format),
    }
}

/// √a: −0 for −0, NaN for negative operands.
pub(super) fn square_root(modifiers: &Modifiers, format: Format, [a, ..]: [f64; 4]) -> f64 {
    match modifiers.rounding {
        Mode::Nearest => a.sqrt(),
        mode => rounding::square_root(a, mode, format),
    }
}

/// The lesser operand, with −0 less than +0. If one is NaN, the other one.
fn minimum(a: f64, b: f64) -> f64 {
    let first = a < b || (a == b && a.is_sign_negative()) || b.is_nan();
    if first { a } else { b }
}

/// The greater operand, with +0 greater than −0. If one is NaN, the other one.
fn maximum(a: f64, b: f64) -> f64 {
    let first = a > b || (a == b && a.is_sign_positive()) || b.is_nan();
    if first { a } else { b }
}

/// With `.NaN`: NaN if either operand is NaN.
fn or_nan(a: f64, b: f64, function: fn(f64, f64) -> f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { function(a, b) }
}

/// With `.xorsign.abs`: `function` of the magnitudes, with the sign of the operands' product unless it is NaN.
fn xorsign(a: f64, b: f64, function: fn(f64, f64) -> f64) -> f64 {
    let magnitude = function(a.abs(), b.abs());
    if a.is_sign_negative() != b.is_sign_negative() { -magnitude } else { magnitude }
}
