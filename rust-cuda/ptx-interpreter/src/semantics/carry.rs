//! Arithmetic with the carry flag (PTX ISA 9.7.2).

use super::integer::Integer;
use super::operand_type::{OperandType, S32, S64, U32, U64};
use super::table::Table;
use super::{Class, Compute, LANES, Operation};

/// Adds the forms to the table: add.cc, addc, sub.cc, subc, mad.cc and madc.
pub(super) fn forms(table: &mut Table) {
    with_type::<U32>(table);
    with_type::<S32>(table);
    with_type::<U64>(table);
    with_type::<S64>(table);
}

/// Makes an operation from a function of a, b, c and the carry flag that returns the value and the carry flag. A
/// flag that it does not read is passed as 0; one that it does not write stays unchanged.
macro_rules! carrying {
    ($kind:ident, $function:ident, $sources:literal, reads $reads:literal, writes $writes:literal) => {
        Operation {
            compute: Compute::Carry(|destination, carry_in, sources| {
                let mut carry_out = 0;
                for lane in 0..LANES {
                    let [a, b, c] = [0, 1, 2].map(|source| $kind::read(sources[source][lane]));
                    let carry = $reads && carry_in >> lane & 1 == 1;
                    let (value, carry) = $function(a, b, c, carry);
                    destination[lane] = $kind::write(value);
                    carry_out |= u32::from(carry) << lane;
                }
                if $writes { carry_out } else { carry_in }
            }),
            destination: $kind::TYPE,
            sources: const { &[$kind::TYPE; $sources] },
            class: Class::Integer,
        }
    };
}

fn with_type<T: OperandType<Value: CarryInteger>>(table: &mut Table) {
    let mut add = |name: &str, operation| table.add(format!("{name}{}", T::NAME), operation);
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
