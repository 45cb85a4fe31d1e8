//! Lane masks: bit i is lane i.

use crate::semantics::{LANES, Lanes};

/// Mask of all lanes.
pub(super) const ALL: u32 = u32::MAX;

/// Indices of the lanes in a mask, in ascending order.
#[inline]
pub(super) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

/// Indices of the lanes in a mask, in ascending or descending order.
#[inline]
pub(super) fn lanes_in(mask: u32, is_descending: bool) -> impl Iterator<Item = usize> {
    let flip = if is_descending { LANES - 1 } else { 0 };
    lanes_of(if is_descending { mask.reverse_bits() } else { mask }).map(move |lane| lane ^ flip)
}

/// The lanes in `mask` grouped by a key. Yields each key with the mask of its lanes, ordered by
/// their lowest lanes.
#[inline]
pub(super) fn groups<K: PartialEq>(mask: u32, key: impl Fn(usize) -> K) -> impl Iterator<Item = (K, u32)> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let first = key(lanes_of(rest).next()?);
        let here = lanes_of(rest).filter(|lane| key(*lane) == first).fold(0, |mask, lane| mask | 1 << lane);
        rest &= !here;
        Some((first, here))
    })
}

/// Overwrites the lanes in `mask`.
#[inline]
pub(super) fn write(register: &mut Lanes, values: &Lanes, mask: u32) {
    if mask == ALL {
        *register = *values;
        return;
    }
    for lane in 0..LANES {
        let keep = u64::from(mask >> lane & 1).wrapping_sub(1);
        register[lane] = register[lane] & keep | values[lane] & !keep;
    }
}

/// Overwrites the bits in `mask`.
#[inline]
pub(super) fn write_bits(predicate: &mut u32, values: u32, mask: u32) {
    *predicate = *predicate & !mask | values & mask;
}

/// Sign-extends values of `from` bits to `to` bits.
pub(super) fn extend_sign(values: &mut Lanes, from: u32, to: u32) {
    let (up, down) = (64 - from, 64 - to);
    for value in values {
        *value = ((*value << up) as i64 >> up) as u64;
        *value = *value << down >> down;
    }
}
