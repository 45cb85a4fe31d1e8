//! The approximate instructions (PTX ISA 9.7.3 and 9.7.4): rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh and the
//! approximate divisions.
//!
//! GPUs approximate them with tables. Here they are computed in f64 and rounded to nearest, so that a GPU's result
//! differs by at most [`approximation_error`](super::approximation_error). Infinities, zeros and NaN give the results
//! of the ISA's tables.

use super::arithmetic::{divide, reciprocal, square_root};
use super::float::{Bf16Bits, F16Bits, Float};
use super::modifiers::{Ftz, Modifiers, Rn};
use super::operand_type::{Bf16, Bf16x2, F16, F16x2, F32, F64, operation};
use super::table::Table;

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    single::<Rn>(table, "");
    single::<Ftz<Rn>>(table, ".ftz");
    table.add("tanh.approx.f32", operation!(Special, hyperbolic_tangent::<f32, Rn>: (F32) -> F32));

    table.add("rsqrt.approx.f64", operation!(Special, reciprocal_root::<f64, Rn>: (F64) -> F64));
    table.add("rsqrt.approx.ftz.f64", operation!(Special, reciprocal_root_coarse: (F64) -> F64));
    table.add("rcp.approx.ftz.f64", operation!(Special, reciprocal_coarse: (F64) -> F64));

    table.add("ex2.approx.f16", operation!(Special, power_of_two::<F16Bits, Rn>: (F16) -> F16));
    table.add("ex2.approx.f16x2", operation!(Special, power_of_two_pair::<F16Bits, Rn>: (F16x2) -> F16x2));
    table.add("ex2.approx.ftz.bf16", operation!(Special, power_of_two::<Bf16Bits, Ftz<Rn>>: (Bf16) -> Bf16));
    let operation = operation!(Special, power_of_two_pair::<Bf16Bits, Ftz<Rn>>: (Bf16x2) -> Bf16x2);
    table.add("ex2.approx.ftz.bf16x2", operation);

    table.add("tanh.approx.f16", operation!(Special, hyperbolic_tangent::<F16Bits, Rn>: (F16) -> F16));
    table.add("tanh.approx.f16x2", operation!(Special, hyperbolic_tangent_pair::<F16Bits, Rn>: (F16x2) -> F16x2));
    table.add("tanh.approx.bf16", operation!(Special, hyperbolic_tangent::<Bf16Bits, Rn>: (Bf16) -> Bf16));
    table.add("tanh.approx.bf16x2", operation!(Special, hyperbolic_tangent_pair::<Bf16Bits, Rn>: (Bf16x2) -> Bf16x2));
}

fn single<M: Modifiers>(table: &mut Table, ftz: &str) {
    table.add(format!("div.approx{ftz}.f32"), operation!(Special, divide_fast::<M>: (F32, F32) -> F32));
    table.add(format!("div.full{ftz}.f32"), operation!(Special, divide::<f32, M>: (F32, F32) -> F32));
    table.add(format!("rcp.approx{ftz}.f32"), operation!(Special, reciprocal::<f32, M>: (F32) -> F32));
    table.add(format!("sqrt.approx{ftz}.f32"), operation!(Special, square_root::<f32, M>: (F32) -> F32));
    table.add(format!("rsqrt.approx{ftz}.f32"), operation!(Special, reciprocal_root::<f32, M>: (F32) -> F32));
    table.add(format!("sin.approx{ftz}.f32"), operation!(Special, sine::<M>: (F32) -> F32));
    table.add(format!("cos.approx{ftz}.f32"), operation!(Special, cosine::<M>: (F32) -> F32));
    table.add(format!("lg2.approx{ftz}.f32"), operation!(Special, logarithm::<M>: (F32) -> F32));
    table.add(format!("ex2.approx{ftz}.f32"), operation!(Special, power_of_two::<f32, M>: (F32) -> F32));
}

/// Computes in f64 and rounds.
#[inline(always)]
fn through_f64<T: Float, M: Modifiers>(a: T, function: impl Fn(f64) -> f64) -> T {
    M::result(T::nearest(function(M::operand(a).to_f64())))
}

/// a × (1/b), where the reciprocal of a magnitude above 2^126 is zero.
#[inline(always)]
fn divide_fast<M: Modifiers>(a: f32, b: f32) -> f32 {
    const LIMIT: f32 = f32::from_bits((127 + 126) << 23);
    if b.is_finite() && b.abs() > LIMIT { M::result(M::operand(a) * 0f32.copysign(b)) } else { divide::<f32, M>(a, b) }
}

/// 1/√a; an infinity of the same sign for ±0, NaN for negative operands.
#[inline(always)]
fn reciprocal_root<T: Float, M: Modifiers>(a: T) -> T {
    through_f64::<T, M>(a, |a| 1.0 / a.sqrt())
}

/// Computes with the upper 32 bits of a and returns the upper 32 bits of the result. NaN is 0x7fffffff00000000, as the
/// ISA specifies.
#[inline(always)]
fn coarse(a: f64, function: impl Fn(f64) -> f64) -> f64 {
    const UPPER: u64 = !0 << 32;
    const NAN: f64 = f64::from_bits(0x7fff_ffff_0000_0000);
    if a.is_nan() {
        return NAN;
    }
    let value = function(Ftz::<Rn>::operand(f64::from_bits(a.to_bits() & UPPER))).flushed();
    if value.is_nan() { NAN } else { f64::from_bits(value.to_bits() & UPPER) }
}

#[inline(always)]
fn reciprocal_coarse(a: f64) -> f64 {
    coarse(a, |a| 1.0 / a)
}

#[inline(always)]
fn reciprocal_root_coarse(a: f64) -> f64 {
    coarse(a, |a| 1.0 / a.sqrt())
}

#[inline(always)]
fn sine<M: Modifiers>(a: f32) -> f32 {
    through_f64::<f32, M>(a, f64::sin)
}

#[inline(always)]
fn cosine<M: Modifiers>(a: f32) -> f32 {
    through_f64::<f32, M>(a, f64::cos)
}

/// log₂ a; −∞ for ±0, NaN for negative operands.
#[inline(always)]
fn logarithm<M: Modifiers>(a: f32) -> f32 {
    through_f64::<f32, M>(a, f64::log2)
}

/// 2^a
#[inline(always)]
fn power_of_two<T: Float, M: Modifiers>(a: T) -> T {
    through_f64::<T, M>(a, f64::exp2)
}

#[inline(always)]
fn power_of_two_pair<T: Float, M: Modifiers>(a: [T; 2]) -> [T; 2] {
    a.map(power_of_two::<T, M>)
}

#[inline(always)]
fn hyperbolic_tangent<T: Float, M: Modifiers>(a: T) -> T {
    through_f64::<T, M>(a, f64::tanh)
}

#[inline(always)]
fn hyperbolic_tangent_pair<T: Float, M: Modifiers>(a: [T; 2]) -> [T; 2] {
    a.map(hyperbolic_tangent::<T, M>)
}
