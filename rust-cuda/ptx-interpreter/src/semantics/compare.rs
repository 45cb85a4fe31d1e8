//! Comparisons (PTX ISA 9.7.5 and 9.7.7): `setp` without its predicate operand, `set` and `slct`.

use super::float::{Bf16Bits, F16Bits, Float};
use super::modifiers::{Ftz, Modifiers, Rn};
use super::operand_type::{
    B16, B32, B64, Bf16, F16, F32, F64, OperandType, S16, S32, S64, U16, U32, U64, operation, portable_operation,
    predicate,
};
use super::table::Table;
use crate::syntax::ScalarType;

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    equality::<B16>(table);
    equality::<B32>(table);
    equality::<B64>(table);
    equality::<U16>(table);
    equality::<U32>(table);
    equality::<U64>(table);
    equality::<S16>(table);
    equality::<S32>(table);
    equality::<S64>(table);

    order::<U16>(table);
    order::<U32>(table);
    order::<U64>(table);
    order::<S16>(table);
    order::<S32>(table);
    order::<S64>(table);
    unsigned_order::<U16>(table);
    unsigned_order::<U32>(table);
    unsigned_order::<U64>(table);

    floats::<F32, Rn>(table, "");
    floats::<F32, Ftz<Rn>>(table, ".ftz");
    floats::<F64, Rn>(table, "");
    floats::<F16, Rn>(table, "");
    floats::<F16, Ftz<Rn>>(table, ".ftz");
    floats::<Bf16, Rn>(table, "");

    selections::<B16>(table);
    selections::<B32>(table);
    selections::<B64>(table);
    selections::<U16>(table);
    selections::<U32>(table);
    selections::<U64>(table);
    selections::<S16>(table);
    selections::<S32>(table);
    selections::<S64>(table);
    selections::<F32>(table);
    selections::<F64>(table);
}

fn equality<T: OperandType<Value: PartialOrd>>(table: &mut Table) {
    integers::<Eq, T>(table, "eq");
    integers::<Ne, T>(table, "ne");
}

fn order<T: OperandType<Value: PartialOrd>>(table: &mut Table) {
    integers::<Lt, T>(table, "lt");
    integers::<Le, T>(table, "le");
    integers::<Gt, T>(table, "gt");
    integers::<Ge, T>(table, "ge");
}

/// The names lo, ls, hi and hs (lower, lower or same, higher, higher or same) of the unsigned comparisons.
fn unsigned_order<T: OperandType<Value: PartialOrd>>(table: &mut Table) {
    integers::<Lt, T>(table, "lo");
    integers::<Le, T>(table, "ls");
    integers::<Gt, T>(table, "hi");
    integers::<Ge, T>(table, "hs");
}

fn floats<T: OperandType<Value: Float>, M: Modifiers>(table: &mut Table, ftz: &str) {
    float::<Eq, T, M>(table, "eq", ftz);
    float::<Ne, T, M>(table, "ne", ftz);
    float::<Lt, T, M>(table, "lt", ftz);
    float::<Le, T, M>(table, "le", ftz);
    float::<Gt, T, M>(table, "gt", ftz);
    float::<Ge, T, M>(table, "ge", ftz);
    float::<Unordered<Eq>, T, M>(table, "equ", ftz);
    float::<Unordered<Ne>, T, M>(table, "neu", ftz);
    float::<Unordered<Lt>, T, M>(table, "ltu", ftz);
    float::<Unordered<Le>, T, M>(table, "leu", ftz);
    float::<Unordered<Gt>, T, M>(table, "gtu", ftz);
    float::<Unordered<Ge>, T, M>(table, "geu", ftz);
    float::<Num, T, M>(table, "num", ftz);
    float::<Nan, T, M>(table, "nan", ftz);
}

fn integers<C: Comparison, T: OperandType<Value: PartialOrd>>(table: &mut Table, name: &str) {
    let source = T::NAME;
    table.add(format!("setp.{name}{source}"), predicate!(holds::<C, T::Value>: (T, T)));
    integers_to::<C, T, U32>(table, name);
    integers_to::<C, T, S32>(table, name);
    integers_to::<C, T, F16>(table, name);
    integers_to::<C, T, Bf16>(table, name);
    integers_to::<C, T, F32>(table, name);
}

fn integers_to<C: Comparison, T: OperandType<Value: PartialOrd>, D: OperandType<Value: BooleanResult>>(
    table: &mut Table,
    name: &str,
) {
    let operation = portable_operation!(Compare, set::<C, T::Value, D::Value>: (T, T) -> D);
    table.add(format!("set.{name}{}{}", D::NAME, T::NAME), operation);
}

/// Adds the forms that compare floats. The ISA has no `set` from f16 or bf16 to f32, and none from other types to a
/// 16-bit integer.
fn float<C: Comparison, T: OperandType<Value: Float>, M: Modifiers>(table: &mut Table, name: &str, ftz: &str) {
    let name = format!("{name}{ftz}");
    table.add(format!("setp.{name}{}", T::NAME), predicate!(holds_float::<C, M, T::Value>: (T, T)));
    float_to::<C, T, M, U32>(table, &name);
    float_to::<C, T, M, S32>(table, &name);
    if matches!(T::TYPE, ScalarType::F16 | ScalarType::Bf16) {
        float_to::<C, T, M, U16>(table, &name);
        float_to::<C, T, M, S16>(table, &name);
    } else {
        float_to::<C, T, M, F32>(table, &name);
    }
    if T::TYPE != ScalarType::Bf16 {
        float_to::<C, T, M, F16>(table, &name);
    }
    if !M::FLUSH {
        float_to::<C, T, M, Bf16>(table, &name);
    }
}

fn float_to<C, T, M, D>(table: &mut Table, name: &str)
where
    C: Comparison,
    T: OperandType<Value: Float>,
    M: Modifiers,
    D: OperandType<Value: BooleanResult>,
{
    let operation = portable_operation!(Compare, set_float::<C, M, T::Value, D::Value>: (T, T) -> D);
    table.add(format!("set.{name}{}{}", D::NAME, T::NAME), operation);
}

fn selections<T: OperandType>(table: &mut Table) {
    let name = T::NAME;
    table.add(format!("slct{name}.s32"), operation!(Compare, select_by_integer: (T, T, S32) -> T));
    table.add(format!("slct{name}.f32"), operation!(Compare, select_by_float::<T::Value, Rn>: (T, T, F32) -> T));
    table.add(
        format!("slct.ftz{name}.f32"),
        operation!(Compare, select_by_float::<T::Value, Ftz<Rn>>: (T, T, F32) -> T),
    );
}

/// A comparison by the native partial order, in which a NaN is neither less nor equal nor greater.
trait Comparison {
    fn holds<T: PartialOrd>(a: &T, b: &T) -> bool;
}

/// Equal.
struct Eq;
/// Not equal, and both ordered: false for NaN, unlike `!=`.
struct Ne;
/// Less.
struct Lt;
/// Less or equal.
struct Le;
/// Greater.
struct Gt;
/// Greater or equal.
struct Ge;
/// No operand is NaN.
struct Num;
/// An operand is NaN.
struct Nan;
/// `C` holds, or an operand is NaN.
struct Unordered<C>(C);

macro_rules! comparisons {
    ($($name:ident |$a:ident, $b:ident| $holds:expr;)*) => {$(
        impl Comparison for $name {
            #[inline(always)]
            fn holds<T: PartialOrd>($a: &T, $b: &T) -> bool {
                $holds
            }
        }
    )*};
}

comparisons! {
    Eq |a, b| a == b;
    Ne |a, b| a != b && a.partial_cmp(b).is_some();
    Lt |a, b| a < b;
    Le |a, b| a <= b;
    Gt |a, b| a > b;
    Ge |a, b| a >= b;
    Num |a, b| a.partial_cmp(b).is_some();
    Nan |a, b| a.partial_cmp(b).is_none();
}

impl<C: Comparison> Comparison for Unordered<C> {
    #[inline(always)]
    fn holds<T: PartialOrd>(a: &T, b: &T) -> bool {
        C::holds(a, b) || Nan::holds(a, b)
    }
}

#[inline(always)]
fn holds<C: Comparison, T: PartialOrd>(a: T, b: T) -> bool {
    C::holds(&a, &b)
}

#[inline(always)]
fn holds_float<C: Comparison, M: Modifiers, T: Float>(a: T, b: T) -> bool {
    C::holds(&M::operand(a).native(), &M::operand(b).native())
}

/// True and false in a destination type of `set`: all ones and 0 in an integer, 1 and +0 in a float.
trait BooleanResult {
    fn from_bool(value: bool) -> Self;
}

macro_rules! boolean_results {
    ($($type:ident: $true:expr, $false:expr;)*) => {$(
        impl BooleanResult for $type {
            #[inline(always)]
            fn from_bool(value: bool) -> Self {
                if value { $true } else { $false }
            }
        }
    )*};
}

boolean_results! {
    u16: Self::MAX, 0;
    u32: Self::MAX, 0;
    i16: -1, 0;
    i32: -1, 0;
    F16Bits: Self::ONE, Self::ZERO;
    Bf16Bits: Self::ONE, Self::ZERO;
    f32: 1.0, 0.0;
}

#[inline(always)]
fn set<C: Comparison, T: PartialOrd, D: BooleanResult>(a: T, b: T) -> D {
    D::from_bool(holds::<C, T>(a, b))
}

#[inline(always)]
fn set_float<C: Comparison, M: Modifiers, T: Float, D: BooleanResult>(a: T, b: T) -> D {
    D::from_bool(holds_float::<C, M, T>(a, b))
}

#[inline(always)]
fn select_by_integer<T>(a: T, b: T, c: i32) -> T {
    if c >= 0 { a } else { b }
}

/// a if c ≥ 0, which includes −0; b if c is negative or NaN.
#[inline(always)]
fn select_by_float<T, M: Modifiers>(a: T, b: T, c: f32) -> T {
    if M::operand(c) >= 0.0 { a } else { b }
}
