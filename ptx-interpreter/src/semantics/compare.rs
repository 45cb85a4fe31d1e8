//! Comparisons (PTX ISA 9.7.5 and 9.7.7): setp without its predicate operand, set and slct.

use super::float::{Bf16Bits, F16Bits, Float};
use super::kind::{
    B16, B32, B64, Bf16, F16, F32, F64, Kind, S16, S32, S64, U16, U32, U64, operation, predicate, seldom,
};
use super::modifiers::{Ftz, Modifiers, Rn};
use super::table::Table;
use crate::syntax::ScalarType;

/// Fills in the forms.
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

fn equality<T: Kind<Value: PartialOrd>>(table: &mut Table) {
    integers::<Eq, T>(table, "eq");
    integers::<Ne, T>(table, "ne");
}

fn order<T: Kind<Value: PartialOrd>>(table: &mut Table) {
    integers::<Lt, T>(table, "lt");
    integers::<Le, T>(table, "le");
    integers::<Gt, T>(table, "gt");
    integers::<Ge, T>(table, "ge");
}

/// Lower, lower or same, higher, higher or same: other names of the same.
fn unsigned_order<T: Kind<Value: PartialOrd>>(table: &mut Table) {
    integers::<Lt, T>(table, "lo");
    integers::<Le, T>(table, "ls");
    integers::<Gt, T>(table, "hi");
    integers::<Ge, T>(table, "hs");
}

fn floats<T: Kind<Value: Float>, M: Modifiers>(table: &mut Table, ftz: &str) {
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

fn integers<C: Comparison, T: Kind<Value: PartialOrd>>(table: &mut Table, name: &str) {
    let source = T::NAME;
    table.add(format!("setp.{name}{source}"), predicate!(holds::<C, T::Value>: (T, T)));
    integers_to::<C, T, U32>(table, name);
    integers_to::<C, T, S32>(table, name);
    integers_to::<C, T, F16>(table, name);
    integers_to::<C, T, Bf16>(table, name);
    integers_to::<C, T, F32>(table, name);
}

fn integers_to<C: Comparison, T: Kind<Value: PartialOrd>, D: Kind<Value: Truth>>(table: &mut Table, name: &str) {
    let operation = seldom!(Compare, set::<C, T::Value, D::Value>: (T, T) -> D);
    table.add(format!("set.{name}{}{}", D::NAME, T::NAME), operation);
}

/// The ISA has no comparison of halves whose result is f32, and none of others whose result has 16 bits as an integer.
fn float<C: Comparison, T: Kind<Value: Float>, M: Modifiers>(table: &mut Table, name: &str, ftz: &str) {
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
    T: Kind<Value: Float>,
    M: Modifiers,
    D: Kind<Value: Truth>,
{
    let operation = seldom!(Compare, set_float::<C, M, T::Value, D::Value>: (T, T) -> D);
    table.add(format!("set.{name}{}{}", D::NAME, T::NAME), operation);
}

fn selections<T: Kind>(table: &mut Table) {
    let name = T::NAME;
    table.add(format!("slct{name}.s32"), operation!(Compare, select_by_integer: (T, T, S32) -> T));
    table.add(format!("slct{name}.f32"), operation!(Compare, select_by_float::<T::Value, Rn>: (T, T, F32) -> T));
    table.add(
        format!("slct.ftz{name}.f32"),
        operation!(Compare, select_by_float::<T::Value, Ftz<Rn>>: (T, T, F32) -> T),
    );
}

/// A comparison, of numbers by their native order, where a NaN is neither less nor equal nor greater.
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
/// Neither is NaN.
struct Num;
/// One is NaN.
struct Nan;
/// Or one is NaN.
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

/// What stands for true and for false in the type of a destination: all ones and 0 in an integer, 1 and +0 in a float.
trait Truth {
    fn of(truth: bool) -> Self;
}

macro_rules! truths {
    ($($type:ident: $yes:expr, $no:expr;)*) => {$(
        impl Truth for $type {
            #[inline(always)]
            fn of(truth: bool) -> Self {
                if truth { $yes } else { $no }
            }
        }
    )*};
}

truths! {
    u16: Self::MAX, 0;
    u32: Self::MAX, 0;
    i16: -1, 0;
    i32: -1, 0;
    F16Bits: Self::ONE, Self::ZERO;
    Bf16Bits: Self::ONE, Self::ZERO;
    f32: 1.0, 0.0;
}

#[inline(always)]
fn set<C: Comparison, T: PartialOrd, D: Truth>(a: T, b: T) -> D {
    D::of(holds::<C, T>(a, b))
}

#[inline(always)]
fn set_float<C: Comparison, M: Modifiers, T: Float, D: Truth>(a: T, b: T) -> D {
    D::of(holds_float::<C, M, T>(a, b))
}

#[inline(always)]
fn select_by_integer<T>(a: T, b: T, c: i32) -> T {
    if c >= 0 { a } else { b }
}

/// a if c is −0 or more; b if it is less, or NaN.
#[inline(always)]
fn select_by_float<T, M: Modifiers>(a: T, b: T, c: f32) -> T {
    if M::operand(c) >= 0.0 { a } else { b }
}
