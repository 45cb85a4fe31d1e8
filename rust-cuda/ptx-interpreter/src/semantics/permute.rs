//! `prmt`: selects four of the eight bytes of two words (PTX ISA 9.7.9.7).

use super::operand_type::{B32, U32, integer};
use super::table::Table;

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    table.add("prmt.b32", integer!(permute: (B32, B32, U32) -> B32));
    table.add("prmt.b32.f4e", integer!(forward_four: (B32, B32, U32) -> B32));
    table.add("prmt.b32.b4e", integer!(backward_four: (B32, B32, U32) -> B32));
    table.add("prmt.b32.rc8", integer!(replicate_byte: (B32, B32, U32) -> B32));
    table.add("prmt.b32.ecl", integer!(edge_clamp_left: (B32, B32, U32) -> B32));
    table.add("prmt.b32.ecr", integer!(edge_clamp_right: (B32, B32, U32) -> B32));
    table.add("prmt.b32.rc16", integer!(replicate_half: (B32, B32, U32) -> B32));
}

/// Each nibble of the selector selects a byte of b·2³² + a by its low three bits; if the nibble's top bit is set, all
/// bits of the result byte are the selected byte's sign.
#[inline(always)]
fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |word, index| {
        let nibble = selector >> (4 * index) & 0xf;
        let byte = (both >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 };
        word | u32::from(byte) << (8 * index)
    })
}

/// A special mode: the low two bits of the selector choose one of four selectors of [`permute`].
#[inline(always)]
fn special(a: u32, b: u32, selector: u32, selectors: [u32; 4]) -> u32 {
    permute(a, b, selectors[(selector & 3) as usize])
}

#[inline(always)]
fn forward_four(a: u32, b: u32, selector: u32) -> u32 {
    special(a, b, selector, [0x3210, 0x4321, 0x5432, 0x6543])
}

#[inline(always)]
fn backward_four(a: u32, b: u32, selector: u32) -> u32 {
    special(a, b, selector, [0x5670, 0x6701, 0x7012, 0x0123])
}

#[inline(always)]
fn replicate_byte(a: u32, b: u32, selector: u32) -> u32 {
    special(a, b, selector, [0x0000, 0x1111, 0x2222, 0x3333])
}

#[inline(always)]
fn edge_clamp_left(a: u32, b: u32, selector: u32) -> u32 {
    special(a, b, selector, [0x3210, 0x3211, 0x3222, 0x3333])
}

#[inline(always)]
fn edge_clamp_right(a: u32, b: u32, selector: u32) -> u32 {
    special(a, b, selector, [0x0000, 0x1110, 0x2210, 0x3210])
}

#[inline(always)]
fn replicate_half(a: u32, b: u32, selector: u32) -> u32 {
    special(a, b, selector, [0x1010, 0x3232, 0x1010, 0x3232])
}
