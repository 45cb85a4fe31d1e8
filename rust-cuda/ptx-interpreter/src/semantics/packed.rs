//! Packed integer arithmetic (PTX ISA 9.7.1): the x2 forms, `dp4a` and `dp2a`.

use super::definition::Definition;
use super::table::Table;
use super::values::{bits, read_integer};
use crate::syntax::ScalarType::{self, B32, S8, S16, U8, U16};

/// Adds the forms to the table. The operands have type b32.
pub(super) fn forms(table: &mut Table) {
    let mut add = |name: &str, sources: usize, function: fn([u32; 4]) -> u32| {
        table.add(name, Definition::words(function, B32, &[B32; 3][..sources]));
    };
    add("add.u16x2", 2, |words| packed(U16, words, |a, b| a + b));
    add("add.s16x2", 2, |words| packed(S16, words, |a, b| a + b));
    add("min.u16x2", 2, |words| packed(U16, words, i32::min));
    add("max.u16x2", 2, |words| packed(U16, words, i32::max));
    add("min.s16x2", 2, |words| packed(S16, words, i32::min));
    add("max.s16x2", 2, |words| packed(S16, words, i32::max));
    add("min.relu.s16x2", 2, |words| packed(S16, words, |a, b| a.min(b).max(0)));
    add("max.relu.s16x2", 2, |words| packed(S16, words, |a, b| a.max(b).max(0)));

    add("dp4a.u32.u32", 3, |words| dot::<4>(words, [U8, U8], 0));
    add("dp4a.u32.s32", 3, |words| dot::<4>(words, [U8, S8], 0));
    add("dp4a.s32.u32", 3, |words| dot::<4>(words, [S8, U8], 0));
    add("dp4a.s32.s32", 3, |words| dot::<4>(words, [S8, S8], 0));
    add("dp2a.lo.u32.u32", 3, |words| dot::<2>(words, [U16, U8], 0));
    add("dp2a.lo.u32.s32", 3, |words| dot::<2>(words, [U16, S8], 0));
    add("dp2a.lo.s32.u32", 3, |words| dot::<2>(words, [S16, U8], 0));
    add("dp2a.lo.s32.s32", 3, |words| dot::<2>(words, [S16, S8], 0));
    add("dp2a.hi.u32.u32", 3, |words| dot::<2>(words, [U16, U8], 2));
    add("dp2a.hi.u32.s32", 3, |words| dot::<2>(words, [U16, S8], 2));
    add("dp2a.hi.s32.u32", 3, |words| dot::<2>(words, [S16, U8], 2));
    add("dp2a.hi.s32.s32", 3, |words| dot::<2>(words, [S16, S8], 2));
}

/// A word's element at an index.
fn element(t: ScalarType, word: u32, index: u32) -> i32 {
    read_integer(t, (word >> (index * bits(t))).into()) as i32
}

/// Applies a function to the low halves and to the high halves.
fn packed(t: ScalarType, [a, b, ..]: [u32; 4], function: impl Fn(i32, i32) -> i32) -> u32 {
    let half = |index| function(element(t, a, index), element(t, b, index)) as u32;
    half(0) & 0xffff | half(1) << 16
}

/// c plus the dot product of N elements of a with elements of b, starting at index `first` of b.
/// Wraps around.
fn dot<const N: u32>([a, b, c, _]: [u32; 4], [a_type, b_type]: [ScalarType; 2], first: u32) -> u32 {
    (0..N)
        .fold(c, |sum, index| sum.wrapping_add((element(a_type, a, index) * element(b_type, b, first + index)) as u32))
}
