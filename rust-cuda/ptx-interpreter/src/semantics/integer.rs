//! Integer arithmetic (PTX ISA 9.7.1), except bit fields and the carry flag.
//!
//! Arithmetic wraps around. PTX leaves division by zero unspecified; here quotient and remainder
//! are all ones, as with NVIDIA's code sequences for 32 and 64 bits. The quotient min / −1 wraps
//! around to min, with remainder 0.

use super::definition::Definition;
use super::modifiers::Modifiers;
use super::table::Table;
use super::values::bits;
use crate::syntax::ScalarType::{self, S16, S32, S64, U16, U32, U64};

/// A function on exact integers that receives the type of the first one.
type Function = fn(ScalarType, [i128; 4]) -> i128;

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    for t in [U16, U32, U64, S16, S32, S64] {
        every_width(table, t);
    }
    for (t, wide) in [(U16, U32), (U32, U64), (S16, S32), (S32, S64)] {
        let (product, sum): (Function, Function) = (|_, [a, b, ..]| a * b, |_, [a, b, c, _]| a * b + c);
        table.add(format!("mul.wide.{}", t.name()), Definition::integer(product, wide, &[t, t]));
        table.add(format!("mad.wide.{}", t.name()), Definition::integer(sum, wide, &[t, t, wide]));
    }
    for t in [U32, S32] {
        let mut add = |name: &str, sources: usize, function: Function| {
            table.add(format!("{name}.{}", t.name()), Definition::integer(function, t, &[t; 3][..sources]));
        };
        add("mul24.lo", 2, |t, [a, b, ..]| product24(t, a, b));
        add("mul24.hi", 2, |t, [a, b, ..]| product24(t, a, b) >> 16);
        add("mad24.lo", 3, |t, [a, b, c, _]| product24(t, a, b) + c);
        add("mad24.hi", 3, |t, [a, b, c, _]| (product24(t, a, b) >> 16) + c);
    }
    let mut add = |name: &str, sources: usize, saturate: bool, function: Function| {
        let definition = Definition::integer(function, S32, &[S32; 3][..sources]);
        table.add(name, definition.with(Modifiers { saturate, ..Modifiers::NONE }));
    };
    add("add.sat.s32", 2, true, |_, [a, b, ..]| a + b);
    add("sub.sat.s32", 2, true, |_, [a, b, ..]| a - b);
    add("mad.hi.sat.s32", 3, true, |t, [a, b, c, _]| high_product(t, a, b) + c);
    add("mad24.hi.sat.s32", 3, true, |t, [a, b, c, _]| (product24(t, a, b) >> 16) + c);
    add("min.relu.s32", 2, false, |_, [a, b, ..]| a.min(b).max(0));
    add("max.relu.s32", 2, false, |_, [a, b, ..]| a.max(b).max(0));
}

fn every_width(table: &mut Table, t: ScalarType) {
    let mut add = |name: &str, sources: usize, function: Function| {
        table.add(format!("{name}.{}", t.name()), Definition::integer(function, t, &[t; 3][..sources]));
    };
    add("add", 2, |_, [a, b, ..]| a + b);
    add("sub", 2, |_, [a, b, ..]| a - b);
    add("mul.lo", 2, |_, [a, b, ..]| a.wrapping_mul(b));
    add("mul.hi", 2, |t, [a, b, ..]| high_product(t, a, b));
    add("mad.lo", 3, |_, [a, b, c, _]| a.wrapping_mul(b).wrapping_add(c));
    add("mad.hi", 3, |t, [a, b, c, _]| high_product(t, a, b) + c);
    add("sad", 3, |_, [a, b, c, _]| (a - b).abs() + c);
    add("div", 2, |_, [a, b, ..]| a.checked_div(b).unwrap_or(-1));
    add("rem", 2, |_, [a, b, ..]| a.checked_rem(b).unwrap_or(-1));
    add("min", 2, |_, [a, b, ..]| a.min(b));
    add("max", 2, |_, [a, b, ..]| a.max(b));
    if t.is_signed() {
        add("abs", 1, |_, [a, ..]| a.abs());
        add("neg", 1, |_, [a, ..]| -a);
    }
}

/// The upper half of the product's bits. An unsigned product of 64 bits may appear negative, with the same bits.
fn high_product(t: ScalarType, a: i128, b: i128) -> i128 {
    a.wrapping_mul(b) >> bits(t)
}

/// The 48-bit product of the low 24 bits of each operand, signed or unsigned like the type.
fn product24(t: ScalarType, a: i128, b: i128) -> i128 {
    let low = |operand: i128| if t.is_signed() { operand << 104 >> 104 } else { operand & 0xff_ffff };
    low(a) * low(b)
}
