//! Integer arithmetic (PTX ISA 9.7.1), without bit fields and the carry flag.
//!
//! Arithmetic wraps around. PTX leaves division by zero unspecified; here quotient and remainder are all ones, as with
//! NVIDIA's code sequences for 32 and 64 bits. The quotient min / −1 wraps around to min, with remainder 0.

use super::operand_type::{OperandType, S16, S32, S64, U16, U32, U64, integer};
use super::table::Table;

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    every_width::<U16>(table);
    every_width::<U32>(table);
    every_width::<U64>(table);
    every_width::<S16>(table);
    every_width::<S32>(table);
    every_width::<S64>(table);

    signed::<S16>(table);
    signed::<S32>(table);
    signed::<S64>(table);

    widening::<U16, U32>(table);
    widening::<U32, U64>(table);
    widening::<S16, S32>(table);
    widening::<S32, S64>(table);

    table.add("add.sat.s32", integer!(i32::saturating_add: (S32, S32) -> S32));
    table.add("sub.sat.s32", integer!(i32::saturating_sub: (S32, S32) -> S32));
    table.add("mad.hi.sat.s32", integer!(multiply_add_high_saturating: (S32, S32, S32) -> S32));
    table.add("min.relu.s32", integer!(minimum_relu: (S32, S32) -> S32));
    table.add("max.relu.s32", integer!(maximum_relu: (S32, S32) -> S32));

    table.add("mul24.lo.u32", integer!(multiply24_low_unsigned: (U32, U32) -> U32));
    table.add("mul24.hi.u32", integer!(multiply24_high_unsigned: (U32, U32) -> U32));
    table.add("mul24.lo.s32", integer!(multiply24_low_signed: (S32, S32) -> S32));
    table.add("mul24.hi.s32", integer!(multiply24_high_signed: (S32, S32) -> S32));
    table.add("mad24.lo.u32", integer!(multiply24_add_low_unsigned: (U32, U32, U32) -> U32));
    table.add("mad24.hi.u32", integer!(multiply24_add_high_unsigned: (U32, U32, U32) -> U32));
    table.add("mad24.lo.s32", integer!(multiply24_add_low_signed: (S32, S32, S32) -> S32));
    table.add("mad24.hi.s32", integer!(multiply24_add_high_signed: (S32, S32, S32) -> S32));
    table.add("mad24.hi.sat.s32", integer!(multiply24_add_high_saturating: (S32, S32, S32) -> S32));
}

fn every_width<T: OperandType<Value: Integer>>(table: &mut Table) {
    let name = T::NAME;
    table.add(format!("add{name}"), integer!(Integer::wrapping_add: (T, T) -> T));
    table.add(format!("sub{name}"), integer!(Integer::wrapping_sub: (T, T) -> T));
    table.add(format!("mul.lo{name}"), integer!(Integer::wrapping_mul: (T, T) -> T));
    table.add(format!("mul.hi{name}"), integer!(Integer::high_product: (T, T) -> T));
    table.add(format!("mad.lo{name}"), integer!(multiply_add_low: (T, T, T) -> T));
    table.add(format!("mad.hi{name}"), integer!(multiply_add_high: (T, T, T) -> T));
    table.add(format!("sad{name}"), integer!(add_absolute_difference: (T, T, T) -> T));
    table.add(format!("div{name}"), integer!(Integer::quotient: (T, T) -> T));
    table.add(format!("rem{name}"), integer!(Integer::remainder: (T, T) -> T));
    table.add(format!("min{name}"), integer!(Ord::min: (T, T) -> T));
    table.add(format!("max{name}"), integer!(Ord::max: (T, T) -> T));
}

fn signed<T: OperandType<Value: Integer>>(table: &mut Table) {
    let name = T::NAME;
    table.add(format!("abs{name}"), integer!(absolute: (T) -> T));
    table.add(format!("neg{name}"), integer!(negate: (T) -> T));
}

fn widening<T: OperandType<Value: Integer>, W: OperandType<Value: Integer + From<T::Value>>>(table: &mut Table) {
    let name = T::NAME;
    table.add(format!("mul.wide{name}"), integer!(multiply_wide::<T::Value, W::Value>: (T, T) -> W));
    table.add(format!("mad.wide{name}"), integer!(multiply_add_wide::<T::Value, W::Value>: (T, T, W) -> W));
}

/// An integer type of an operand.
pub(super) trait Integer: Copy + Ord {
    const ZERO: Self;
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    /// The upper half of the product's bits.
    fn high_product(self, other: Self) -> Self;
    /// All ones if the divisor is zero.
    fn quotient(self, divisor: Self) -> Self;
    /// All ones if the divisor is zero.
    fn remainder(self, divisor: Self) -> Self;
}

macro_rules! integers {
    ($($type:ident in $wide:ident),*) => {$(
        impl Integer for $type {
            const ZERO: Self = 0;

            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                $type::wrapping_add(self, other)
            }

            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                $type::wrapping_sub(self, other)
            }

            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self {
                $type::wrapping_mul(self, other)
            }

            #[inline(always)]
            fn high_product(self, other: Self) -> Self {
                ((self as $wide * other as $wide) >> $type::BITS) as $type
            }

            #[inline(always)]
            fn quotient(self, divisor: Self) -> Self {
                if divisor == 0 { !0 } else { self.wrapping_div(divisor) }
            }

            #[inline(always)]
            fn remainder(self, divisor: Self) -> Self {
                if divisor == 0 { !0 } else { self.wrapping_rem(divisor) }
            }
        }
    )*};
}

integers!(u16 in u32, u32 in u64, u64 in u128, i16 in i32, i32 in i64, i64 in i128);

#[inline(always)]
fn multiply_add_low<T: Integer>(a: T, b: T, c: T) -> T {
    a.wrapping_mul(b).wrapping_add(c)
}

#[inline(always)]
fn multiply_add_high<T: Integer>(a: T, b: T, c: T) -> T {
    a.high_product(b).wrapping_add(c)
}

#[inline(always)]
fn multiply_add_high_saturating(a: i32, b: i32, c: i32) -> i32 {
    a.high_product(b).saturating_add(c)
}

#[inline(always)]
fn multiply_wide<T: Integer, W: Integer + From<T>>(a: T, b: T) -> W {
    W::from(a).wrapping_mul(W::from(b))
}

#[inline(always)]
fn multiply_add_wide<T: Integer, W: Integer + From<T>>(a: T, b: T, c: W) -> W {
    multiply_wide::<T, W>(a, b).wrapping_add(c)
}

/// c + |a − b|, wrapping around.
#[inline(always)]
fn add_absolute_difference<T: Integer>(a: T, b: T, c: T) -> T {
    let difference = if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
    c.wrapping_add(difference)
}

/// |a|; the minimum for the minimum.
#[inline(always)]
fn absolute<T: Integer>(a: T) -> T {
    if a < T::ZERO { negate(a) } else { a }
}

#[inline(always)]
fn negate<T: Integer>(a: T) -> T {
    T::ZERO.wrapping_sub(a)
}

#[inline(always)]
fn minimum_relu(a: i32, b: i32) -> i32 {
    a.min(b).max(0)
}

#[inline(always)]
fn maximum_relu(a: i32, b: i32) -> i32 {
    a.max(b).max(0)
}

/// The product of the low 24 bits of each, in 48 bits.
#[inline(always)]
fn multiply24_unsigned(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

/// The product of the low 24 bits of each as signed numbers, in 48 bits.
#[inline(always)]
fn multiply24_signed(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
}

#[inline(always)]
fn multiply24_low_unsigned(a: u32, b: u32) -> u32 {
    multiply24_unsigned(a, b) as u32
}

#[inline(always)]
fn multiply24_high_unsigned(a: u32, b: u32) -> u32 {
    (multiply24_unsigned(a, b) >> 16) as u32
}

#[inline(always)]
fn multiply24_low_signed(a: i32, b: i32) -> i32 {
    multiply24_signed(a, b) as i32
}

#[inline(always)]
fn multiply24_high_signed(a: i32, b: i32) -> i32 {
    (multiply24_signed(a, b) >> 16) as i32
}

#[inline(always)]
fn multiply24_add_low_unsigned(a: u32, b: u32, c: u32) -> u32 {
    multiply24_low_unsigned(a, b).wrapping_add(c)
}

#[inline(always)]
fn multiply24_add_high_unsigned(a: u32, b: u32, c: u32) -> u32 {
    multiply24_high_unsigned(a, b).wrapping_add(c)
}

#[inline(always)]
fn multiply24_add_low_signed(a: i32, b: i32, c: i32) -> i32 {
    multiply24_low_signed(a, b).wrapping_add(c)
}

#[inline(always)]
fn multiply24_add_high_signed(a: i32, b: i32, c: i32) -> i32 {
    multiply24_high_signed(a, b).wrapping_add(c)
}

#[inline(always)]
fn multiply24_add_high_saturating(a: i32, b: i32, c: i32) -> i32 {
    multiply24_high_signed(a, b).saturating_add(c)
}
