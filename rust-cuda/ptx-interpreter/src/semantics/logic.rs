//! Logic, shifts and bit fields (PTX ISA 9.7.1 and 9.7.8), without the forms on predicates.

use super::operand_type::{B16, B32, B64, OperandType, S16, S32, S64, U16, U32, U64, integer};
use super::table::Table;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    bitwise::<B16>(table);
    bitwise::<B32>(table);
    bitwise::<B64>(table);

    shift_right::<B16>(table);
    shift_right::<B32>(table);
    shift_right::<B64>(table);
    shift_right::<U16>(table);
    shift_right::<U32>(table);
    shift_right::<U64>(table);
    shift_right::<S16>(table);
    shift_right::<S32>(table);
    shift_right::<S64>(table);

    fields::<B32, U32, S32>(table);
    fields::<B64, U64, S64>(table);

    table.add("lop3.b32", integer!(logic_of_three: (B32, B32, B32, U32) -> B32));
    table.add("shf.l.clamp.b32", integer!(funnel_left_clamp: (B32, B32, U32) -> B32));
    table.add("shf.l.wrap.b32", integer!(funnel_left_wrap: (B32, B32, U32) -> B32));
    table.add("shf.r.clamp.b32", integer!(funnel_right_clamp: (B32, B32, U32) -> B32));
    table.add("shf.r.wrap.b32", integer!(funnel_right_wrap: (B32, B32, U32) -> B32));

    table.add("fns.b32", integer!(find_nth_set: (B32, B32, S32) -> B32));
    table.add("bmsk.clamp.b32", integer!(bit_mask_clamp: (U32, U32) -> B32));
    table.add("bmsk.wrap.b32", integer!(bit_mask_wrap: (U32, U32) -> B32));
    table.add("szext.clamp.u32", integer!(zero_extend_clamp: (U32, U32) -> U32));
    table.add("szext.wrap.u32", integer!(zero_extend_wrap: (U32, U32) -> U32));
    table.add("szext.clamp.s32", integer!(sign_extend_clamp: (S32, U32) -> S32));
    table.add("szext.wrap.s32", integer!(sign_extend_wrap: (S32, U32) -> S32));
}

fn bitwise<T: OperandType<Value: Bitwise>>(table: &mut Table) {
    let name = T::NAME;
    table.add(format!("and{name}"), integer!(BitAnd::bitand: (T, T) -> T));
    table.add(format!("or{name}"), integer!(BitOr::bitor: (T, T) -> T));
    table.add(format!("xor{name}"), integer!(BitXor::bitxor: (T, T) -> T));
    table.add(format!("not{name}"), integer!(Not::not: (T) -> T));
    table.add(format!("cnot{name}"), integer!(Bitwise::is_zero: (T) -> T));
    table.add(format!("shl{name}"), integer!(Bitwise::shift_left: (T, U32) -> T));
}

fn shift_right<T: OperandType<Value: Bitwise>>(table: &mut Table) {
    table.add(format!("shr{}", T::NAME), integer!(Bitwise::shift_right: (T, U32) -> T));
}

fn fields<B, U, S>(table: &mut Table)
where
    B: OperandType<Value: Bitwise>,
    U: OperandType<Value: Bitwise>,
    S: OperandType<Value: Bitwise>,
{
    let (bits, unsigned, signed) = (B::NAME, U::NAME, S::NAME);
    table.add(format!("popc{bits}"), integer!(Bitwise::population: (B) -> U32));
    table.add(format!("clz{bits}"), integer!(Bitwise::leading_zeros: (B) -> U32));
    table.add(format!("brev{bits}"), integer!(Bitwise::reverse: (B) -> B));
    table.add(format!("bfi{bits}"), integer!(Bitwise::insert: (B, B, U32, U32) -> B));
    table.add(format!("bfe{unsigned}"), integer!(Bitwise::extract: (U, U32, U32) -> U));
    table.add(format!("bfe{signed}"), integer!(Bitwise::extract: (S, U32, U32) -> S));
    table.add(format!("bfind{unsigned}"), integer!(find_leading: (U) -> U32));
    table.add(format!("bfind{signed}"), integer!(find_leading: (S) -> U32));
    table.add(format!("bfind.shiftamt{unsigned}"), integer!(find_leading_shift: (U) -> U32));
    table.add(format!("bfind.shiftamt{signed}"), integer!(find_leading_shift: (S) -> U32));
}

/// A word of 16, 32 or 64 bits, signed or unsigned.
trait Bitwise: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self> {
    const BITS: u32;
    /// 1 if the word is zero, else 0: `cnot`.
    fn is_zero(self) -> Self;
    fn population(self) -> u32;
    fn leading_zeros(self) -> u32;
    fn reverse(self) -> Self;
    /// Shifts left; zero if `amount` is the width or more.
    fn shift_left(self, amount: u32) -> Self;
    /// Shifts right; all sign bits, or zero for an unsigned type, if `amount` is the width or more.
    fn shift_right(self, amount: u32) -> Self;
    /// The field of `length` bits from `position` on; only the low 8 bits of both operands count. A signed field is
    /// sign-extended; its sign is the word's top bit if the field extends beyond the word.
    fn extract(self, position: u32, length: u32) -> Self;
    /// `base` with the low `length` bits of self inserted at `position`; only the low 8 bits of both operands count.
    fn insert(self, base: Self, position: u32, length: u32) -> Self;
    /// Self, or its complement if it is negative.
    fn without_sign(self) -> Self;
}

macro_rules! words {
    ($($type:ident as $unsigned:ident),*) => {$(
        impl Bitwise for $type {
            const BITS: u32 = $type::BITS;

            #[inline(always)]
            fn is_zero(self) -> Self {
                $type::from(self == 0)
            }

            #[inline(always)]
            fn population(self) -> u32 {
                self.count_ones()
            }

            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                $type::leading_zeros(self)
            }

            #[inline(always)]
            fn reverse(self) -> Self {
                self.reverse_bits()
            }

            #[inline(always)]
            fn shift_left(self, amount: u32) -> Self {
                if amount < $type::BITS { self << amount } else { 0 }
            }

            #[inline(always)]
            fn shift_right(self, amount: u32) -> Self {
                if amount < $type::BITS { self >> amount } else { self >> ($type::BITS - 1) >> 1 }
            }

            #[inline(always)]
            fn extract(self, position: u32, length: u32) -> Self {
                let (position, length) = (position & 0xff, length & 0xff);
                let shifted = self.shift_right(position);
                if length == 0 {
                    return 0;
                }
                // Shift the field to the top of the word and back: the second shift extends the sign.
                let unused = $type::BITS.saturating_sub(length);
                shifted << unused >> unused
            }

            #[inline(always)]
            fn insert(self, base: Self, position: u32, length: u32) -> Self {
                let (position, length) = (position & 0xff, length & 0xff);
                let field = !(!0 as $unsigned).shift_left(length);
                let mask = field.shift_left(position) as $type;
                (base & !mask) | (self.shift_left(position) & mask)
            }

            #[inline(always)]
            fn without_sign(self) -> Self {
                #[allow(unused_comparisons)]
                if self < 0 { !self } else { self }
            }
        }
    )*};
}

words!(u16 as u16, u32 as u32, u64 as u64, i16 as u16, i32 as u32, i64 as u64);

/// Position of the highest set bit, or of the highest clear bit of a negative integer; all ones if there is none.
#[inline(always)]
fn find_leading<T: Bitwise>(a: T) -> u32 {
    // With no such bit, this is 0 − 1.
    (T::BITS - a.without_sign().leading_zeros()).wrapping_sub(1)
}

/// Left shift that moves the bit of [`find_leading`] to the top; all ones if there is none.
#[inline(always)]
fn find_leading_shift<T: Bitwise>(a: T) -> u32 {
    let zeros = a.without_sign().leading_zeros();
    if zeros == T::BITS { u32::MAX } else { zeros }
}

/// The bitwise function of three operands given by a truth table: bit 4a + 2b + c of `table`.
#[inline(always)]
fn logic_of_three(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let chosen = |index: u32| 0u32.wrapping_sub(table >> index & 1);
    let by_c = |low: u32| (chosen(low) & !c) | (chosen(low + 1) & c);
    let by_b = |low: u32| (by_c(low) & !b) | (by_c(low + 2) & b);
    (by_b(0) & !a) | (by_b(4) & a)
}

/// The upper word of b·2³² + a, shifted left by at most 32.
#[inline(always)]
fn funnel_left_clamp(a: u32, b: u32, amount: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    (both << amount.min(32) >> 32) as u32
}

#[inline(always)]
fn funnel_left_wrap(a: u32, b: u32, amount: u32) -> u32 {
    funnel_left_clamp(a, b, amount & 31)
}

/// The lower word of b·2³² + a, shifted right by at most 32.
#[inline(always)]
fn funnel_right_clamp(a: u32, b: u32, amount: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    (both >> amount.min(32)) as u32
}

#[inline(always)]
fn funnel_right_wrap(a: u32, b: u32, amount: u32) -> u32 {
    funnel_right_clamp(a, b, amount & 31)
}

/// Position of the |offset|th set bit of the mask, from `base` upwards or, for a negative offset, downwards; for offset
/// 0, `base` if that bit is set. All ones if there is none, and for a base beyond 31, which PTX leaves undefined.
#[inline(always)]
fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    let mut position = base as i32;
    let mut left = offset.unsigned_abs().saturating_sub(1);
    while (0..32).contains(&position) {
        if mask >> position & 1 == 1 {
            if left == 0 {
                return position as u32;
            }
            left -= 1;
        }
        match offset.signum() {
            0 => return u32::MAX,
            direction => position += direction,
        }
    }
    u32::MAX
}

/// A mask of `width` ones from `position` on, cut off at the top; zero if the position is beyond 31.
#[inline(always)]
fn bit_mask_clamp(position: u32, width: u32) -> u32 {
    let ones = !u32::MAX.shift_left(width);
    ones.shift_left(position)
}

#[inline(always)]
fn bit_mask_wrap(position: u32, width: u32) -> u32 {
    bit_mask_clamp(position & 31, width & 31)
}

/// The low `width` bits, zero-extended; all bits for a width of 32 or more.
#[inline(always)]
fn zero_extend_clamp(a: u32, width: u32) -> u32 {
    a & !u32::MAX.shift_left(width)
}

#[inline(always)]
fn zero_extend_wrap(a: u32, width: u32) -> u32 {
    zero_extend_clamp(a, width & 31)
}

/// The low `width` bits, sign-extended; 0 for a width of 0, all bits for a width of 32 or more.
#[inline(always)]
fn sign_extend_clamp(a: i32, width: u32) -> i32 {
    if width == 0 {
        return 0;
    }
    let unused = 32u32.saturating_sub(width);
    a << unused >> unused
}

#[inline(always)]
fn sign_extend_wrap(a: i32, width: u32) -> i32 {
    sign_extend_clamp(a, width & 31)
}
