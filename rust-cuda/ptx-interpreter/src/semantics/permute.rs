//! `prmt`: selects four of the eight bytes of two words (PTX ISA 9.7.9.7).

use super::definition::Definition;
use super::table::Table;
use crate::syntax::ScalarType::{B32, U32};

/// Adds the forms to the table.
pub(super) fn forms(table: &mut Table) {
    let mut add = |mode: &str, function: fn([u32; 4]) -> u32| {
        table.add(format!("prmt.b32{mode}"), Definition::words(function, B32, &[B32, B32, U32]));
    };
    add("", permute);
    add(".f4e", |sources| special(sources, [0x3210, 0x4321, 0x5432, 0x6543]));
    add(".b4e", |sources| special(sources, [0x5670, 0x6701, 0x7012, 0x0123]));
    add(".rc8", |sources| special(sources, [0x0000, 0x1111, 0x2222, 0x3333]));
    add(".ecl", |sources| special(sources, [0x3210, 0x3211, 0x3222, 0x3333]));
    add(".ecr", |sources| special(sources, [0x0000, 0x1110, 0x2210, 0x3210]));
    add(".rc16", |sources| special(sources, [0x1010, 0x3232, 0x1010, 0x3232]));
}

/// Each nibble of the selector selects a byte of b·2³² + a with its low three bits. If the nibble's
/// top bit is set, the result byte is filled with the selected byte's sign.
#[inline(always)]
pub(super) fn permute([a, b, selector, _]: [u32; 4]) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |word, index| {
        let nibble = selector >> (4 * index) & 0xf;
        let byte = (both >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 };
        word | u32::from(byte) << (8 * index)
    })
}

/// A special mode: the selector's low two bits choose one of four selectors for [`permute`].
fn special([a, b, selector, _]: [u32; 4], selectors: [u32; 4]) -> u32 {
    permute([a, b, selectors[(selector & 3) as usize], 0])
}
