//! Arithmetic with the carry flag (PTX ISA 9.7.2).

use super::integer::Integer;
use super::operand_type::{OperandType, S32, S64, U32, U64};
use super::table::{UnknownForm, full_name};
use super::{LANES, Lanes};
use crate::syntax::ScalarType;
use std::collections::HashMap;
use std::sync::LazyLock;

/// An instruction that reads or writes the carry flag `CC.CF`.
#[derive(Clone, Copy, Debug)]
pub struct CarryOperation {
    /// Writes each lane's value. Takes the carry flags, bit i for lane i, and returns the new ones: unchanged if the
    /// instruction has no `.cc`. The caller keeps the flags of inactive lanes.
    pub compute: fn(&mut Lanes, u32, [&Lanes; 4]) -> u32,
    /// The type of the destination and of every source.
    pub element: ScalarType,
    /// Number of sources.
    pub sources: usize,
}

static TABLE: LazyLock<HashMap<String, CarryOperation>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    forms::<U32>(&mut table);
    forms::<S32>(&mut table);
    forms::<U64>(&mut table);
    forms::<S64>(&mut table);
    table
});

/// The semantics of an instruction that reads or writes the carry flag: add.cc, addc, sub.cc, subc, mad.cc and madc.
///
/// # Errors
/// [`UnknownForm`] for every other name.
pub fn carry(opcode: &str, modifiers: &[impl AsRef<str>]) -> Result<CarryOperation, UnknownForm> {
    let name = full_name(opcode, modifiers);
    TABLE.get(&name).copied().ok_or_else(|| UnknownForm { opcode: opcode.to_owned(), name })
}

/// The names of the forms, sorted.
pub(super) fn names() -> impl Iterator<Item = String> {
    let mut names: Vec<String> = TABLE.keys().cloned().collect();
    names.sort();
    names.into_iter()
}

/// Makes a carry operation from a function of a, b, c and the carry flag that returns the value and the carry flag. A
/// flag that it does not read is passed as 0; one that it does not write stays unchanged.
macro_rules! carrying {
    ($kind:ident, $function:ident, $sources:literal, reads $reads:literal, writes $writes:literal) => {
        CarryOperation {
            compute: |destination, carry_in, sources| {
                let mut carry_out = 0;
                for lane in 0..LANES {
                    let [a, b, c] = [0, 1, 2].map(|source| $kind::read(sources[source][lane]));
                    let carry = $reads && carry_in >> lane & 1 == 1;
                    let (value, carry) = $function(a, b, c, carry);
                    destination[lane] = $kind::write(value);
                    carry_out |= u32::from(carry) << lane;
                }
                if $writes { carry_out } else { carry_in }
            },
            element: $kind::TYPE,
            sources: $sources,
        }
    };
}

fn forms<T: OperandType<Value: CarryInteger>>(table: &mut HashMap<String, CarryOperation>) {
    let mut add = |name: &str, operation| table.insert(format!("{name}{}", T::NAME), operation);
    add("add.cc", carrying!(T, sum, 2, reads false, writes true));
    add("addc", carrying!(T, sum, 2, reads true, writes false));
    add("addc.cc", carrying!(T, sum, 2, reads true, writes true));
    add("sub.cc", carrying!(T, difference, 2, reads false, writes true));
    add("subc", carrying!(T, difference, 2, reads true, writes false));
    add("subc.cc", carrying!(T, difference, 2, reads true, writes true));
    add("mad.lo.cc", carrying!(T, product_low, 3, reads false, writes true));
    add("mad.hi.cc", carrying!(T, product_high, 3, reads false, writes true));
    add("madc.lo", carrying!(T, product_low, 3, reads true, writes false));
    add("madc.hi", carrying!(T, product_high, 3, reads true, writes false));
    add("madc.lo.cc", carrying!(T, product_low, 3, reads true, writes true));
    add("madc.hi.cc", carrying!(T, product_high, 3, reads true, writes true));
}

/// Addition and subtraction with carry, on the bits as unsigned integers.
trait CarryInteger: Integer {
    fn carrying_add(self, other: Self, carry: bool) -> (Self, bool);
    fn borrowing_sub(self, other: Self, borrow: bool) -> (Self, bool);
}

macro_rules! carry_integers {
    ($($type:ident as $unsigned:ident),*) => {$(
        impl CarryInteger for $type {
            #[inline(always)]
            fn carrying_add(self, other: Self, carry: bool) -> (Self, bool) {
                let (sum, first) = (self as $unsigned).overflowing_add(other as $unsigned);
                let (sum, second) = sum.overflowing_add($unsigned::from(carry));
                (sum as $type, first || second)
            }

            #[inline(always)]
            fn borrowing_sub(self, other: Self, borrow: bool) -> (Self, bool) {
                let (difference, first) = (self as $unsigned).overflowing_sub(other as $unsigned);
                let (difference, second) = difference.overflowing_sub($unsigned::from(borrow));
                (difference as $type, first || second)
            }
        }
    )*};
}

carry_integers!(u32 as u32, i32 as u32, u64 as u64, i64 as u64);

/// a + b + carry
#[inline(always)]
fn sum<T: CarryInteger>(a: T, b: T, _: T, carry: bool) -> (T, bool) {
    a.carrying_add(b, carry)
}

/// a − (b + carry); the flag is the borrow.
#[inline(always)]
fn difference<T: CarryInteger>(a: T, b: T, _: T, carry: bool) -> (T, bool) {
    a.borrowing_sub(b, carry)
}

/// The lower half of a × b, plus c and the carry; the flag is the carry of this sum.
#[inline(always)]
fn product_low<T: CarryInteger>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    a.wrapping_mul(b).carrying_add(c, carry)
}

/// The upper half of a × b, plus c and the carry; the flag is the carry of this sum.
#[inline(always)]
fn product_high<T: CarryInteger>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    a.high_product(b).carrying_add(c, carry)
}
