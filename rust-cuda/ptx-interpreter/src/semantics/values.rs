//! Conversion between exact integers and the bits of a register.

use crate::syntax::ScalarType;

/// Width in bits.
pub(super) fn bits(t: ScalarType) -> u32 {
    t.bytes() as u32 * 8
}

/// Keeps the low bits that belong to the type.
pub(super) fn truncate(t: ScalarType, value: u64) -> u64 {
    value & (u64::MAX >> (64 - bits(t)))
}

/// The value of an integer in the low bits of a register.
pub(super) fn read_integer(t: ScalarType, value: u64) -> i128 {
    let unused = 64 - bits(t);
    if t.is_signed() { ((value << unused) as i64 >> unused).into() } else { truncate(t, value).into() }
}

/// The nearest integer of the type.
pub(super) fn clamp(t: ScalarType, value: i128) -> i128 {
    let values = 1i128 << bits(t);
    if t.is_signed() { value.clamp(-values / 2, values / 2 - 1) } else { value.clamp(0, values - 1) }
}
