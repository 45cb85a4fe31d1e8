//! Floats as sums of bf16, in pairs as tensor cores take them, by operations on their bits.

use cuda_std::matrix::upper_halves;

/// The float whose upper half is that of another, and whose lower half is zero: a bf16, of the eight most significant bits.
#[inline(always)]
fn truncated(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xffff_0000)
}

/// Three bf16 of each of two floats, whose sum is the float: 8 of its 24 bits each. Each register has those of both.
#[inline(always)]
pub(super) fn in_three(pair: [f32; 2]) -> [u32; 3] {
    let rest = pair.map(|x| x - truncated(x));
    let last = rest.map(|x| x - truncated(x));
    [upper_halves(pair), upper_halves(rest), upper_halves(last)]
}

/// Two bf16 of each of two floats, whose sum is the float but for 2⁻¹⁶ of it.
#[inline(always)]
pub(super) fn in_two(pair: [f32; 2]) -> [u32; 2] {
    let rest = pair.map(|x| x - truncated(x));
    [upper_halves(pair), upper_halves(rest.map(rounded))]
}

/// The float whose upper half is the nearest bf16, ties away from zero.
#[inline(always)]
fn rounded(x: f32) -> f32 {
    f32::from_bits(x.to_bits().wrapping_add(0x8000))
}
