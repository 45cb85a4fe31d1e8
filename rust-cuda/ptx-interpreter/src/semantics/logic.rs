//! Logic, shifts and bit fields (PTX ISA 9.7.1 and 9.7.8), except the forms on predicates.

use super::definition::Definition;
use super::table::Table;
use super::values::bits;
use crate::syntax::ScalarType::{self, B16, B32, B64, S16, S32, S64, U16, U32, U64};

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    for t in [B16, B32, B64] {
        bitwise(table, t);
    }
    for t in [B16, B32, B64, U16, U32, U64, S16, S32, S64] {
        let definition = Definition::integer(|_, [a, amount, ..]| shift_right(a, amount), t, &[t, U32]);
        table.add(format!("shr.{}", t.name()), definition);
    }
    for (t, integers) in [(B32, [U32, S32]), (B64, [U64, S64])] {
        fields(table, t);
        integers.into_iter().for_each(|t| integer_fields(table, t));
    }
    words(table);
}

fn bitwise(table: &mut Table, t: ScalarType) {
    let mut add = |opcode: &str, sources: &[ScalarType], function| {
        table.add(format!("{opcode}.{}", t.name()), Definition::integer(function, t, sources));
    };
    add("and", &[t, t], |_, [a, b, ..]| a & b);
    add("or", &[t, t], |_, [a, b, ..]| a | b);
    add("xor", &[t, t], |_, [a, b, ..]| a ^ b);
    add("not", &[t], |_, [a, ..]| !a);
    add("cnot", &[t], |_, [a, ..]| (a == 0).into());
    add("shl", &[t, U32], |_, [a, amount, ..]| shift_left(a, amount));
}

fn fields(table: &mut Table, t: ScalarType) {
    let mut add = |opcode: &str, destination, sources: &[ScalarType], function| {
        table.add(format!("{opcode}.{}", t.name()), Definition::integer(function, destination, sources));
    };
    add("popc", U32, &[t], |_, [a, ..]| a.count_ones().into());
    add("clz", U32, &[t], |t, [a, ..]| leading_zeros(t, a));
    add("brev", t, &[t], |t, [a, ..]| a.reverse_bits() >> (128 - bits(t)));
    add("bfi", t, &[t, t, U32, U32], |_, operands| insert(operands));
}

fn integer_fields(table: &mut Table, t: ScalarType) {
    let mut add = |opcode: &str, destination, sources: &[ScalarType], function| {
        table.add(format!("{opcode}.{}", t.name()), Definition::integer(function, destination, sources));
    };
    add("bfe", t, &[t, U32, U32], extract);
    // The position of the highest set bit; for a negative integer, of the highest clear bit. All
    // ones if there is none.
    add("bfind", U32, &[t], |t, [a, ..]| i128::from(bits(t)) - 1 - leading_zeros(t, without_sign(a)));
    // The left shift that moves this bit to the top. All ones if there is no such bit.
    add("bfind.shiftamt", U32, &[t], |t, [a, ..]| match leading_zeros(t, without_sign(a)) {
        zeros if zeros == bits(t).into() => -1,
        zeros => zeros,
    });
}

fn words(table: &mut Table) {
    let mut add = |name: &str, destination, sources: &[ScalarType], function| {
        table.add(name, Definition::words(function, destination, sources));
    };
    add("lop3.b32", B32, &[B32, B32, B32, U32], logic_of_three);
    add("shf.l.clamp.b32", B32, &[B32, B32, U32], |[a, b, amount, _]| funnel_left(a, b, amount.min(32)));
    add("shf.l.wrap.b32", B32, &[B32, B32, U32], |[a, b, amount, _]| funnel_left(a, b, amount & 31));
    add("shf.r.clamp.b32", B32, &[B32, B32, U32], |[a, b, amount, _]| funnel_right(a, b, amount.min(32)));
    add("shf.r.wrap.b32", B32, &[B32, B32, U32], |[a, b, amount, _]| funnel_right(a, b, amount & 31));

    add("fns.b32", B32, &[B32, B32, S32], |[mask, base, offset, _]| find_nth_set(mask, base, offset as i32));
    add("bmsk.clamp.b32", B32, &[U32, U32], |[position, width, ..]| bit_mask(position, width));
    add("bmsk.wrap.b32", B32, &[U32, U32], |[position, width, ..]| bit_mask(position & 31, width & 31));
    add("szext.clamp.u32", U32, &[U32, U32], |[a, width, ..]| zero_extend(a, width));
    add("szext.wrap.u32", U32, &[U32, U32], |[a, width, ..]| zero_extend(a, width & 31));
    add("szext.clamp.s32", S32, &[S32, U32], |[a, width, ..]| sign_extend(a, width));
    add("szext.wrap.s32", S32, &[S32, U32], |[a, width, ..]| sign_extend(a, width & 31));
}

/// Shifts left. The destination's bits are zero if `amount` is its width or more.
fn shift_left(a: i128, amount: i128) -> i128 {
    a << amount.min(64)
}

/// Shifts right. If `amount` is the width or more, the result is all sign bits, or zero for an
/// unsigned type.
fn shift_right(a: i128, amount: i128) -> i128 {
    a >> amount.min(64)
}

/// Number of zeros above the highest set bit.
fn leading_zeros(t: ScalarType, a: i128) -> i128 {
    i128::from(a.leading_zeros()) - i128::from(128 - bits(t))
}

/// The integer, or its complement if it is negative.
fn without_sign(a: i128) -> i128 {
    if a < 0 { !a } else { a }
}

/// The field of `length` bits starting at `position`. Only the low 8 bits of both operands count. A
/// signed field is sign-extended; if the field extends beyond the word, its sign is the word's top
/// bit.
fn extract(t: ScalarType, [a, position, length, _]: [i128; 4]) -> i128 {
    let field = shift_right(a, position & 0xff);
    match (length & 0xff).min(bits(t).into()) {
        0 => 0,
        length if t.is_signed() => field << (128 - length) >> (128 - length),
        length => field & ((1 << length) - 1),
    }
}

/// `base` with the low `length` bits of a inserted at `position`. Only the low 8 bits of both
/// operands count.
fn insert([a, base, position, length]: [i128; 4]) -> i128 {
    let position = (position & 0xff).min(64);
    let mask = ((1 << (length & 0xff).min(64)) - 1) << position;
    (base & !mask) | ((a << position) & mask)
}

/// The bitwise function of three operands given by a truth table: bit 4a + 2b + c of `table`.
#[inline(always)]
pub(super) fn logic_of_three([a, b, c, table]: [u32; 4]) -> u32 {
    let chosen = |index: u32| 0u32.wrapping_sub(table >> index & 1);
    let by_c = |low: u32| (chosen(low) & !c) | (chosen(low + 1) & c);
    let by_b = |low: u32| (by_c(low) & !b) | (by_c(low + 2) & b);
    (by_b(0) & !a) | (by_b(4) & a)
}

/// The upper word of b·2³² + a, shifted left by at most 32.
#[inline(always)]
pub(super) fn funnel_left(a: u32, b: u32, amount: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    (both << amount >> 32) as u32
}

/// The lower word of b·2³² + a, shifted right by at most 32.
#[inline(always)]
pub(super) fn funnel_right(a: u32, b: u32, amount: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    (both >> amount) as u32
}

/// Position of the |offset|th set bit of the mask, counted upward from `base` or, for a negative
/// offset, downward. For offset 0, `base` if that bit is set. All ones if there is none, and for a
/// base above 31, which PTX leaves undefined.
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

/// A mask of `width` ones starting at `position`, cut off at the top. Zero if the position is above
/// 31.
fn bit_mask(position: u32, width: u32) -> u32 {
    let ones = !u32::MAX.checked_shl(width).unwrap_or(0);
    ones.checked_shl(position).unwrap_or(0)
}

/// The low `width` bits, zero-extended. All bits for a width of 32 or more.
fn zero_extend(a: u32, width: u32) -> u32 {
    a & !u32::MAX.checked_shl(width).unwrap_or(0)
}

/// The low `width` bits, sign-extended. 0 for a width of 0, all bits for a width of 32 or more.
fn sign_extend(a: u32, width: u32) -> u32 {
    if width == 0 {
        return 0;
    }
    let unused = 32u32.saturating_sub(width);
    ((a << unused) as i32 >> unused) as u32
}
