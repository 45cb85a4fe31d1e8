//! Comparisons (PTX ISA 9.7.5 and 9.7.7): `setp` without its predicate operand, `set` and `slct`.

use super::Class;
use super::definition::{Definition, Function, bits, read_integer};
use super::float::Format;
use super::modifiers::{Modifiers, name_if};
use super::table::Table;
use crate::syntax::ScalarType::{self, B16, B32, B64, Bf16, F16, F32, F64, Pred, S16, S32, S64, U16, U32, U64};
use std::cmp::Ordering;

/// A comparison: the set of relations for which it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison {
    less: bool,
    equal: bool,
    greater: bool,
    /// An operand is NaN.
    unordered: bool,
}

const fn comparison(less: bool, equal: bool, greater: bool) -> Comparison {
    Comparison { less, equal, greater, unordered: false }
}

const EQ: Comparison = comparison(false, true, false);
const NE: Comparison = comparison(true, false, true);
const LT: Comparison = comparison(true, false, false);
const LE: Comparison = comparison(true, true, false);
const GT: Comparison = comparison(false, false, true);
const GE: Comparison = comparison(false, true, true);
const NUM: Comparison = comparison(true, true, true);
const NAN: Comparison = comparison(false, false, false).or_unordered();

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

impl Comparison {
    const fn or_unordered(self) -> Self {
        Self { unordered: true, ..self }
    }

    /// Whether it holds for two values of a type.
    pub(super) fn holds(self, t: ScalarType, flush: bool, operands: [u64; 2]) -> bool {
        let ordering = match Format::of(t) {
            Some(format) => {
                let [a, b] = operands.map(|bits| Modifiers::flush(flush).operand(format, bits));
                a.partial_cmp(&b)
            }
            None => {
                let [a, b] = operands.map(|bits| read_integer(t, bits));
                Some(a.cmp(&b))
            }
        };
        match ordering {
            Some(Ordering::Less) => self.less,
            Some(Ordering::Equal) => self.equal,
            Some(Ordering::Greater) => self.greater,
            None => self.unordered,
        }
    }
}

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

/// True and false in a destination: all ones and 0 in an integer, 1 and +0 in a float, 1 and 0 in a predicate.
pub(super) fn boolean(t: ScalarType, value: bool) -> u64 {
    match Format::of(t) {
        _ if !value => 0,
        Some(format) => format.one(),
        None if t == Pred => 1,
        None => u64::MAX >> (64 - bits(t)),
    }
}

/// Whether `slct` selects its first source: if the condition is 0 or more, which includes −0 but not NaN.
pub(super) fn selects_first(t: ScalarType, flush: bool, condition: u64) -> bool {
    match Format::of(t) {
        Some(format) => Modifiers::flush(flush).operand(format, condition) >= 0.0,
        None => read_integer(t, condition) >= 0,
    }
}
