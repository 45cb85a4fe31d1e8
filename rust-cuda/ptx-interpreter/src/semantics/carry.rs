//! Arithmetic with the carry flag (PTX ISA 9.7.2).

use super::Class;
use super::definition::{Definition, Function};
use super::modifiers::name_if;
use super::table::Table;
use super::values::{bits, read_integer, truncate};
use crate::syntax::ScalarType::{self, S32, S64, U32, U64};

/// The exact value of an instruction on unsigned operands and the carry flag.
type Exact = fn(ScalarType, [i128; 3], i128) -> i128;

/// Adds the forms to the table: add.cc, addc, sub.cc, subc, mad.cc and madc.
pub(super) fn forms(table: &mut Table) {
    for t in [U32, S32, U64, S64] {
        let mut add = |opcode: &str, part: &str, sources: usize, exact: Exact| {
            for (reads, writes) in [(false, true), (true, false), (true, true)] {
                let (c, cc) = (name_if(reads, "c"), name_if(writes, ".cc"));
                let function = Function::Carry { exact, reads, writes };
                let definition = Definition::new(Class::Integer, function, t, &[t; 3][..sources]);
                table.add(format!("{opcode}{c}{part}{cc}.{}", t.name()), definition);
            }
        };
        add("add", "", 2, |_, [a, b, _], carry| a + b + carry);
        add("sub", "", 2, |_, [a, b, _], borrow| a - b - borrow);
        add("mad", ".lo", 3, |t, [a, b, c], carry| low_product(t, a, b) + c + carry);
        add("mad", ".hi", 3, |t, [a, b, c], carry| high_product(t, a, b) + c + carry);
    }
}

/// The lower half of the product's bits.
fn low_product(t: ScalarType, a: i128, b: i128) -> i128 {
    truncate(t, a.wrapping_mul(b) as u64).into()
}

/// The upper half of the product's bits.
fn high_product(t: ScalarType, a: i128, b: i128) -> i128 {
    let [a, b] = [a, b].map(|operand| read_integer(t, operand as u64));
    truncate(t, (a.wrapping_mul(b) >> bits(t)) as u64).into()
}
