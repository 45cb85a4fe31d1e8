//! Comparisons (PTX ISA 9.7.5 and 9.7.7): `setp` without its predicate operand, `set` and `slct`.

use super::Class;
use super::comparison::Comparison;
use super::definition::{Definition, Function};
use super::modifiers::{Modifiers, name_if};
use super::table::Table;
use crate::syntax::ScalarType::{
    self, B16, B32, B64, Bf16, Bf16x2, F16, F16x2, F32, F64, Pred, S16, S32, S64, U16, U32, U64,
};

const EQ: Comparison = Comparison::ordered(false, true, false);
const NE: Comparison = Comparison::ordered(true, false, true);
const LT: Comparison = Comparison::ordered(true, false, false);
const LE: Comparison = Comparison::ordered(true, true, false);
const GT: Comparison = Comparison::ordered(false, false, true);
const GE: Comparison = Comparison::ordered(false, true, true);
const NUM: Comparison = Comparison::ordered(true, true, true);
const NAN: Comparison = Comparison::ordered(false, false, false).or_unordered();

const EQUALITIES: &[(&str, Comparison)] = &[("eq", EQ), ("ne", NE)];
const ORDERS: &[(&str, Comparison)] = &[("lt", LT), ("le", LE), ("gt", GT), ("ge", GE)];
/// Lower, lower or same, higher, higher or same.
const UNSIGNED_ORDERS: &[(&str, Comparison)] = &[("lo", LT), ("ls", LE), ("hi", GT), ("hs", GE)];
const FLOAT_COMPARISONS: &[(&str, Comparison)] = &[
    ("equ", EQ.or_unordered()),
    ("neu", NE.or_unordered()),
    ("ltu", LT.or_unordered()),
    ("leu", LE.or_unordered()),
    ("gtu", GT.or_unordered()),
    ("geu", GE.or_unordered()),
    ("num", NUM),
    ("nan", NAN),
];

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    for t in [B16, B32, B64, U16, U32, U64, S16, S32, S64] {
        let orders = if matches!(t, B16 | B32 | B64) { &[][..] } else { ORDERS };
        let unsigned_orders = if matches!(t, U16 | U32 | U64) { UNSIGNED_ORDERS } else { &[] };
        for &(name, comparison) in [EQUALITIES, orders, unsigned_orders].into_iter().flatten() {
            add(table, name, comparison, false, [Pred, t]);
            for to in [U32, S32, F16, Bf16, F32] {
                add(table, name, comparison, false, [to, t]);
            }
        }
    }
    for (t, flush) in [(F32, false), (F32, true), (F64, false), (F16, false), (F16, true), (Bf16, false)] {
        for &(name, comparison) in [EQUALITIES, ORDERS, FLOAT_COMPARISONS].into_iter().flatten() {
            for &to in float_results(t) {
                if !(flush && to == Bf16) {
                    add(table, name, comparison, flush, [to, t]);
                }
            }
        }
    }
    for (t, flush) in [(F16x2, false), (F16x2, true), (Bf16x2, false)] {
        for &(name, comparison) in [EQUALITIES, ORDERS, FLOAT_COMPARISONS].into_iter().flatten() {
            for to in [Pred, U32, S32, t] {
                add(table, name, comparison, flush, [to, t]);
            }
        }
    }
    for t in [B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64] {
        for (flush, condition) in [(false, S32), (false, F32), (true, F32)] {
            let definition = Definition::new(Class::Compare, Function::Select, t, &[t, t, condition]);
            let name = format!("slct{}.{}.{}", name_if(flush, ".ftz"), t.name(), condition.name());
            table.add(name, definition.with(Modifiers::flush(flush)));
        }
    }
}

/// The destinations of comparisons of floats. The ISA has no `set` from f16 or bf16 to f32, and none from other types
/// to a 16-bit integer.
fn float_results(t: ScalarType) -> &'static [ScalarType] {
    match t {
        F16 => &[Pred, U32, S32, U16, S16, F16, Bf16],
        Bf16 => &[Pred, U32, S32, U16, S16, Bf16],
        _ => &[Pred, U32, S32, F32, F16, Bf16],
    }
}

fn add(table: &mut Table, name: &str, comparison: Comparison, flush: bool, [to, t]: [ScalarType; 2]) {
    let definition = Definition::new(Class::Compare, Function::Compare(comparison), to, &[t, t]);
    let (ftz, source) = (name_if(flush, ".ftz"), t.name());
    let name = match to {
        Pred => format!("setp.{name}{ftz}.{source}"),
        _ => format!("set.{name}{ftz}.{}.{source}", to.name()),
    };
    table.add(name, definition.with(Modifiers::flush(flush)));
}
