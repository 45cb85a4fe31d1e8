//! Floats as sums of bf16, in pairs as tensor cores take them, and what becomes of their sums.

use cuda_std::matrix::upper_halves;
use cuda_std::warp;

/// The float whose upper half is that of another, and whose lower half is zero: a bf16, of the eight most significant bits.
#[inline(always)]
fn truncated(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xffff_0000)
}

/// Three bf16 of each of two floats, whose sum is the float: 8 of its 24 bits each. Each register has those of both.
#[inline(always)]
pub(crate) fn in_three(pair: [f32; 2]) -> [u32; 3] {
    let rest = pair.map(|x| x - truncated(x));
    let last = rest.map(|x| x - truncated(x));
    [upper_halves(pair), upper_halves(rest), upper_halves(last)]
}

/// Two bf16 of each of two floats, whose sum is the float but for 2⁻¹⁶ of it.
#[inline(always)]
pub(crate) fn in_two(pair: [f32; 2]) -> [u32; 2] {
    let rest = pair.map(|x| x - truncated(x));
    [upper_halves(pair), upper_halves(rest.map(rounded))]
}

/// The float whose upper half is the nearest bf16, ties away from zero.
#[inline(always)]
fn rounded(x: f32) -> f32 {
    f32::from_bits(x.to_bits().wrapping_add(0x8000))
}

/// Of two lanes, whose numbers differ by `mask`, one gets the first pairs of both, its own first; the other, of which `is_second` is
/// true, the second pairs, its own last. Needs a whole warp.
#[inline(always)]
pub(crate) fn exchanged(first: [f32; 2], second: [f32; 2], is_second: bool, mask: u32) -> [f32; 4] {
    let passed = if is_second { first } else { second };
    let [e, f] = passed.map(|value| warp::shuffle_xor(value, mask));
    if is_second { [e, f, second[0], second[1]] } else { [first[0], first[1], e, f] }
}
