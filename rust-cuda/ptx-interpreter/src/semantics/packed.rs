//! Packed integer arithmetic (PTX ISA 9.7.1): the x2 forms, `dp4a` and `dp2a`.

use super::operand_type::{B32, integer};
use super::table::Table;

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    // The operands of packed halves have type b32.
    table.add("add.u16x2", integer!(packed_add: (B32, B32) -> B32));
    table.add("add.s16x2", integer!(packed_add: (B32, B32) -> B32));
    table.add("min.u16x2", integer!(packed_minimum_unsigned: (B32, B32) -> B32));
    table.add("max.u16x2", integer!(packed_maximum_unsigned: (B32, B32) -> B32));
    table.add("min.s16x2", integer!(packed_minimum_signed: (B32, B32) -> B32));
    table.add("max.s16x2", integer!(packed_maximum_signed: (B32, B32) -> B32));
    table.add("min.relu.s16x2", integer!(packed_minimum_relu: (B32, B32) -> B32));
    table.add("max.relu.s16x2", integer!(packed_maximum_relu: (B32, B32) -> B32));

    table.add("dp4a.u32.u32", integer!(dot4::<u8, u8>: (B32, B32, B32) -> B32));
    table.add("dp4a.u32.s32", integer!(dot4::<u8, i8>: (B32, B32, B32) -> B32));
    table.add("dp4a.s32.u32", integer!(dot4::<i8, u8>: (B32, B32, B32) -> B32));
    table.add("dp4a.s32.s32", integer!(dot4::<i8, i8>: (B32, B32, B32) -> B32));
    table.add("dp2a.lo.u32.u32", integer!(dot2::<0, u16, u8>: (B32, B32, B32) -> B32));
    table.add("dp2a.lo.u32.s32", integer!(dot2::<0, u16, i8>: (B32, B32, B32) -> B32));
    table.add("dp2a.lo.s32.u32", integer!(dot2::<0, i16, u8>: (B32, B32, B32) -> B32));
    table.add("dp2a.lo.s32.s32", integer!(dot2::<0, i16, i8>: (B32, B32, B32) -> B32));
    table.add("dp2a.hi.u32.u32", integer!(dot2::<2, u16, u8>: (B32, B32, B32) -> B32));
    table.add("dp2a.hi.u32.s32", integer!(dot2::<2, u16, i8>: (B32, B32, B32) -> B32));
    table.add("dp2a.hi.s32.u32", integer!(dot2::<2, i16, u8>: (B32, B32, B32) -> B32));
    table.add("dp2a.hi.s32.s32", integer!(dot2::<2, i16, i8>: (B32, B32, B32) -> B32));
}

/// Applies a function to the low halves and to the high halves.
#[inline(always)]
fn packed(a: u32, b: u32, function: impl Fn(u16, u16) -> u16) -> u32 {
    let low = function(a as u16, b as u16);
    let high = function((a >> 16) as u16, (b >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}

#[inline(always)]
fn packed_add(a: u32, b: u32) -> u32 {
    packed(a, b, u16::wrapping_add)
}

#[inline(always)]
fn packed_minimum_unsigned(a: u32, b: u32) -> u32 {
    packed(a, b, u16::min)
}

#[inline(always)]
fn packed_maximum_unsigned(a: u32, b: u32) -> u32 {
    packed(a, b, u16::max)
}

#[inline(always)]
fn packed_minimum_signed(a: u32, b: u32) -> u32 {
    packed(a, b, |a, b| (a as i16).min(b as i16) as u16)
}

#[inline(always)]
fn packed_maximum_signed(a: u32, b: u32) -> u32 {
    packed(a, b, |a, b| (a as i16).max(b as i16) as u16)
}

#[inline(always)]
fn packed_minimum_relu(a: u32, b: u32) -> u32 {
    packed(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16)
}

#[inline(always)]
fn packed_maximum_relu(a: u32, b: u32) -> u32 {
    packed(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16)
}

/// An 8-bit or 16-bit part of a 32-bit word, as a signed or an unsigned integer.
trait Part {
    fn of(word: u32, index: u32) -> i32;
}

macro_rules! parts {
    ($($type:ident),*) => {$(
        impl Part for $type {
            #[inline(always)]
            fn of(word: u32, index: u32) -> i32 {
                i32::from((word >> (index * $type::BITS)) as $type)
            }
        }
    )*};
}

parts!(u8, i8, u16, i16);

/// c plus the dot product of four bytes with four bytes, wrapping around.
#[inline(always)]
fn dot4<A: Part, B: Part>(a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(c, |sum, index| sum.wrapping_add((A::of(a, index) * B::of(b, index)) as u32))
}

/// c plus the dot product of the two 16-bit halves of a with two bytes of b from byte FIRST on, wrapping around.
#[inline(always)]
fn dot2<const FIRST: u32, A: Part, B: Part>(a: u32, b: u32, c: u32) -> u32 {
    (0..2).fold(c, |sum, index| sum.wrapping_add((A::of(a, index) * B::of(b, FIRST + index)) as u32))
}
