//! Loops of `setp`: equal and less for integers, and equal, less, less or equal and unordered for
//! floats. The other comparisons use these with swapped operands or a negated result.

use super::element::Element;
use super::lane_loop::{Compiled, PredicateLoop};
use super::vectors::Vectors;
use crate::semantics::table::Table;
use crate::semantics::{LANES, Lanes};

/// A loop over the lanes that compares two operands of a type.
macro_rules! predicate_loop {
    ($element:ty, |$a:ident, $b:ident| $holds:expr) => {{
        let holds: PredicateLoop = |vectors, sources| {
            mask::<$element>(
                vectors,
                sources,
                #[inline(always)]
                |$a, $b| $holds,
            )
        };
        holds
    }};
}

/// Adds the loops to the table.
pub(super) fn loops(table: &mut Table) {
    equality::<u16>(table, 16);
    equality::<u32>(table, 32);
    equality::<u64>(table, 64);
    order::<u16>(table, "u16");
    order::<u32>(table, "u32");
    order::<u64>(table, "u64");
    order::<i16>(table, "s16");
    order::<i32>(table, "s32");
    order::<i64>(table, "s64");
    floats::<f32>(table, "f32");
    floats::<f64>(table, "f64");
}

fn add(table: &mut Table, t: &str, comparisons: &str, holds: PredicateLoop, swapped: bool, negated: bool) {
    for comparison in comparisons.split_whitespace() {
        table.compile(format!("setp.{comparison}.{t}"), Compiled::Predicate { holds, swapped, negated });
    }
}

fn equality<T: Element + PartialEq>(table: &mut Table, bits: u32) {
    let equal = predicate_loop!(T, |a, b| a == b);
    for kind in ["b", "u", "s"] {
        let t = format!("{kind}{bits}");
        add(table, &t, "eq", equal, false, false);
        add(table, &t, "ne", equal, false, true);
    }
}

fn order<T: Element + PartialOrd>(table: &mut Table, t: &str) {
    let less = predicate_loop!(T, |a, b| a < b);
    let is_unsigned = t.starts_with('u');
    add(table, t, if is_unsigned { "lt lo" } else { "lt" }, less, false, false);
    add(table, t, if is_unsigned { "gt hi" } else { "gt" }, less, true, false);
    add(table, t, if is_unsigned { "ge hs" } else { "ge" }, less, false, true);
    add(table, t, if is_unsigned { "le ls" } else { "le" }, less, true, true);
}

fn floats<T: Element + PartialOrd>(table: &mut Table, t: &str) {
    let equal = predicate_loop!(T, |a, b| a == b);
    let less = predicate_loop!(T, |a, b| a < b);
    let less_or_equal = predicate_loop!(T, |a, b| a <= b);
    let unordered = predicate_loop!(T, |a, b| a.partial_cmp(&b).is_none());
    add(table, t, "eq", equal, false, false);
    add(table, t, "neu", equal, false, true);
    add(table, t, "lt", less, false, false);
    add(table, t, "gt", less, true, false);
    add(table, t, "geu", less, false, true);
    add(table, t, "leu", less, true, true);
    add(table, t, "le", less_or_equal, false, false);
    add(table, t, "ge", less_or_equal, true, false);
    add(table, t, "gtu", less_or_equal, false, true);
    add(table, t, "ltu", less_or_equal, true, true);
    add(table, t, "nan", unordered, false, false);
    add(table, t, "num", unordered, false, true);
}

#[inline(always)]
fn mask<T: Element>(vectors: Vectors, [a, b, ..]: [&Lanes; 4], holds: impl Fn(T, T) -> bool) -> u32 {
    vectors.run(
        #[inline(always)]
        || {
            let mut mask = 0;
            for lane in 0..LANES {
                mask |= u32::from(holds(T::read(a[lane]), T::read(b[lane]))) << lane;
            }
            mask
        },
    )
}
