//! The approximate instructions (PTX ISA 9.7.3 and 9.7.4): rcp, sqrt, rsqrt, sin, cos, lg2, ex2,
//! tanh and the approximate divisions.
//!
//! GPUs approximate them with tables. Here they are computed in f64 and rounded to nearest, so a
//! GPU's result differs by at most [`approximation_error`](super::approximation_error). The
//! functions come from libm because they return the same bits on every system (and the cosine of
//! mingw-w64 ends at 2⁶³). Infinities, zeros and NaN give the results in the ISA's tables.

use super::Class;
use super::arithmetic::{quotient, square_root};
use super::definition::{Definition, Function};
use super::float::Format;
use super::modifiers::{Modifiers, name_if};
use super::table::Table;
use crate::syntax::ScalarType::{self, Bf16, Bf16x2, F16, F16x2, F32, F64};

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    for flush in [false, true] {
        single(table, flush);
    }
    let mut add = |name: &str, flush: bool, t: ScalarType, function: Function| {
        let definition = Definition::new(Class::Special, function, t, &[t]).with(Modifiers::flush(flush));
        table.add(format!("{name}{}.{}", name_if(flush, ".ftz"), t.name()), definition);
    };
    add("rsqrt.approx", false, F64, Function::Float(|_, _, [a, ..]| 1.0 / a.sqrt()));
    add("rsqrt.approx", true, F64, Function::FloatBits(|_, [a, _]| coarse(a, |a| 1.0 / a.sqrt())));
    add("rcp.approx", true, F64, Function::FloatBits(|_, [a, _]| coarse(a, |a| 1.0 / a)));
    for (t, flush) in [(F16, false), (F16x2, false), (Bf16, true), (Bf16x2, true)] {
        add("ex2.approx", flush, t, Function::Float(|_, _, [a, ..]| libm::exp2(a)));
    }
    for t in [F32, F16, F16x2, Bf16, Bf16x2] {
        add("tanh.approx", false, t, Function::Float(|_, _, [a, ..]| libm::tanh(a)));
    }
}

fn single(table: &mut Table, flush: bool) {
    let mut add = |name: &str, sources: usize, function| {
        let definition = Definition::new(Class::Special, Function::Float(function), F32, &[F32; 2][..sources]);
        table.add(format!("{name}{}.f32", name_if(flush, ".ftz")), definition.with(Modifiers::flush(flush)));
    };
    add("div.approx", 2, divide_fast);
    add("div.full", 2, |modifiers, format, [a, b, ..]| quotient(modifiers, format, a, b));
    add("rcp.approx", 1, |modifiers, format, [a, ..]| quotient(modifiers, format, 1.0, a));
    add("sqrt.approx", 1, square_root);
    // An infinity of the same sign for ±0, NaN for negative operands.
    add("rsqrt.approx", 1, |_, _, [a, ..]| 1.0 / a.sqrt());
    add("sin.approx", 1, |_, _, [a, ..]| libm::sin(a));
    add("cos.approx", 1, |_, _, [a, ..]| libm::cos(a));
    // −∞ for ±0, NaN for negative operands.
    add("lg2.approx", 1, |_, _, [a, ..]| libm::log2(a));
    add("ex2.approx", 1, |_, _, [a, ..]| libm::exp2(a));
}

/// a × (1/b), with a zero reciprocal for magnitudes above 2^126.
fn divide_fast(modifiers: &Modifiers, format: Format, [a, b, ..]: [f64; 4]) -> f64 {
    const LIMIT: f64 = f64::from_bits((1023 + 126) << 52);
    if b.is_finite() && b.abs() > LIMIT { a * 0f64.copysign(b) } else { quotient(modifiers, format, a, b) }
}

/// Computes with the upper 32 bits of an f64 and returns the upper 32 bits of the result. NaN is 0x7fffffff00000000, as
/// the ISA specifies.
fn coarse(a: u64, function: fn(f64) -> f64) -> u64 {
    const UPPER: u64 = !0 << 32;
    const NAN: u64 = 0x7fff_ffff_0000_0000;
    if f64::from_bits(a).is_nan() {
        return NAN;
    }
    let value = function(f64::from_bits(a & UPPER));
    if value.is_nan() { NAN } else { Format::F64.flushed(value.to_bits()) & UPPER }
}
