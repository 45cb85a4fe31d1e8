//! Arithmetic on f16 and bf16, scalar and packed (PTX ISA 9.7.4), except the approximations.
//!
//! Every result is rounded to nearest even from an intermediate f64 for which double rounding is innocuous. A NaN
//! result is 0x7fff.

use super::arithmetic::{
    absolute, maximum, maximum_nan, maximum_nan_xorsign, maximum_xorsign, minimum, minimum_nan, minimum_nan_xorsign,
    minimum_xorsign, negate,
};
use super::float::Float;
use super::modifiers::{Ftz, Modifiers, Relu, Rn, Sat};
use super::operand_type::{Bf16, Bf16x2, F16, F16x2, OperandType, operation};
use super::rounding;
use super::table::Table;

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    sums_and_products::<F16, F16x2, Rn>(table, "");
    sums_and_products::<F16, F16x2, Ftz<Rn>>(table, ".ftz");
    sums_and_products::<F16, F16x2, Sat<Rn>>(table, ".sat");
    sums_and_products::<F16, F16x2, Sat<Ftz<Rn>>>(table, ".ftz.sat");
    sums_and_products::<Bf16, Bf16x2, Rn>(table, "");

    fused::<F16, F16x2, Rn>(table, "");
    fused::<F16, F16x2, Ftz<Rn>>(table, ".ftz");
    fused::<F16, F16x2, Sat<Rn>>(table, ".sat");
    fused::<F16, F16x2, Sat<Ftz<Rn>>>(table, ".ftz.sat");
    fused::<F16, F16x2, Relu<Rn>>(table, ".relu");
    fused::<F16, F16x2, Relu<Ftz<Rn>>>(table, ".ftz.relu");
    fused::<Bf16, Bf16x2, Rn>(table, "");
    fused::<Bf16, Bf16x2, Relu<Rn>>(table, ".relu");

    sign_and_extremes::<F16, F16x2, Rn>(table, "");
    sign_and_extremes::<F16, F16x2, Ftz<Rn>>(table, ".ftz");
    sign_and_extremes::<Bf16, Bf16x2, Rn>(table, "");
}

/// Adds the scalar and the packed form.
macro_rules! both {
    ($table:ident, $opcode:expr, $modifiers:expr, $one:ident / $two:ident: ($t:ident, $p:ident) 1) => {{
        let operation = operation!(Half, $one::<$t::Value, M>: ($t) -> $t);
        $table.add(format!("{}{}{}", $opcode, $modifiers, $t::NAME), operation);
        let operation = operation!(Half, $two::<$t::Value, M>: ($p) -> $p);
        $table.add(format!("{}{}{}", $opcode, $modifiers, $p::NAME), operation);
    }};
    ($table:ident, $opcode:expr, $modifiers:expr, $one:ident / $two:ident: ($t:ident, $p:ident) 2) => {{
        let operation = operation!(Half, $one::<$t::Value, M>: ($t, $t) -> $t);
        $table.add(format!("{}{}{}", $opcode, $modifiers, $t::NAME), operation);
        let operation = operation!(Half, $two::<$t::Value, M>: ($p, $p) -> $p);
        $table.add(format!("{}{}{}", $opcode, $modifiers, $p::NAME), operation);
    }};
    ($table:ident, $opcode:expr, $modifiers:expr, $one:ident / $two:ident: ($t:ident, $p:ident) 3) => {{
        let operation = operation!(Half, $one::<$t::Value, M>: ($t, $t, $t) -> $t);
        $table.add(format!("{}{}{}", $opcode, $modifiers, $t::NAME), operation);
        let operation = operation!(Half, $two::<$t::Value, M>: ($p, $p, $p) -> $p);
        $table.add(format!("{}{}{}", $opcode, $modifiers, $p::NAME), operation);
    }};
}

fn sums_and_products<T, P, M>(table: &mut Table, modifiers: &str)
where
    T: OperandType<Value: Float>,
    P: OperandType<Value = [T::Value; 2]>,
    M: Modifiers,
{
    for rounding in ["", ".rn"] {
        let modifiers = format!("{rounding}{modifiers}");
        both!(table, "add", modifiers, add / add_pair: (T, P) 2);
        both!(table, "sub", modifiers, subtract / subtract_pair: (T, P) 2);
        both!(table, "mul", modifiers, multiply / multiply_pair: (T, P) 2);
    }
}

fn fused<T, P, M>(table: &mut Table, modifiers: &str)
where
    T: OperandType<Value: Float>,
    P: OperandType<Value = [T::Value; 2]>,
    M: Modifiers,
{
    both!(table, "fma.rn", modifiers, multiply_add / multiply_add_pair: (T, P) 3);
}

fn sign_and_extremes<T, P, M>(table: &mut Table, ftz: &str)
where
    T: OperandType<Value: Float>,
    P: OperandType<Value = [T::Value; 2]>,
    M: Modifiers,
{
    both!(table, "neg", ftz, negate / negate_pair: (T, P) 1);
    both!(table, "abs", ftz, absolute / absolute_pair: (T, P) 1);
    both!(table, "min", ftz, minimum / minimum_pair: (T, P) 2);
    both!(table, "max", ftz, maximum / maximum_pair: (T, P) 2);
    let nan = format!("{ftz}.NaN");
    both!(table, "min", nan, minimum_nan / minimum_nan_pair: (T, P) 2);
    both!(table, "max", nan, maximum_nan / maximum_nan_pair: (T, P) 2);
    let xorsign = format!("{ftz}.xorsign.abs");
    both!(table, "min", xorsign, minimum_xorsign / minimum_xorsign_pair: (T, P) 2);
    both!(table, "max", xorsign, maximum_xorsign / maximum_xorsign_pair: (T, P) 2);
    let xorsign = format!("{ftz}.NaN.xorsign.abs");
    both!(table, "min", xorsign, minimum_nan_xorsign / minimum_nan_xorsign_pair: (T, P) 2);
    both!(table, "max", xorsign, maximum_nan_xorsign / maximum_nan_xorsign_pair: (T, P) 2);
}

/// Defines packed functions from scalar ones.
macro_rules! pairs {
    ($($one:ident, $two:ident ($($source:ident),+);)*) => {$(
        #[inline(always)]
        fn $two<T: Float, M: Modifiers>($($source: [T; 2]),+) -> [T; 2] {
            [$one::<T, M>($($source[0]),+), $one::<T, M>($($source[1]),+)]
        }
    )*};
}

pairs! {
    add, add_pair(a, b);
    subtract, subtract_pair(a, b);
    multiply, multiply_pair(a, b);
    multiply_add, multiply_add_pair(a, b, c);
    negate, negate_pair(a);
    absolute, absolute_pair(a);
    minimum, minimum_pair(a, b);
    maximum, maximum_pair(a, b);
    minimum_nan, minimum_nan_pair(a, b);
    maximum_nan, maximum_nan_pair(a, b);
    minimum_xorsign, minimum_xorsign_pair(a, b);
    maximum_xorsign, maximum_xorsign_pair(a, b);
    minimum_nan_xorsign, minimum_nan_xorsign_pair(a, b);
    maximum_nan_xorsign, maximum_nan_xorsign_pair(a, b);
}

/// Rounding to f64 first is innocuous: f64 has at least twice the bits of a half plus two (Figueroa, "When is double
/// rounding innocuous?", 1995), and a sum that is a subnormal half is exact.
#[inline(always)]
fn add<T: Float, M: Modifiers>(a: T, b: T) -> T {
    M::result(T::nearest(M::operand(a).to_f64() + M::operand(b).to_f64()))
}

#[inline(always)]
fn subtract<T: Float, M: Modifiers>(a: T, b: T) -> T {
    M::result(T::nearest(M::operand(a).to_f64() - M::operand(b).to_f64()))
}

/// The product of two halves is exact in f64.
#[inline(always)]
fn multiply<T: Float, M: Modifiers>(a: T, b: T) -> T {
    M::result(T::nearest(M::operand(a).to_f64() * M::operand(b).to_f64()))
}

/// The product is exact in f64, and the sum is rounded to odd.
#[inline(always)]
fn multiply_add<T: Float, M: Modifiers>(a: T, b: T, c: T) -> T {
    let product = M::operand(a).to_f64() * M::operand(b).to_f64();
    M::result(T::nearest(rounding::sum_to_odd(product, M::operand(c).to_f64())))
}
