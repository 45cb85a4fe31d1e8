//! Divisions, wide shifts, bit operations, and elements of one byte.

use cuda_std::math::{to_i128, to_u128};
use cuda_std::{GlobalMut, kernel, thread};

/// The number of values that [`divisions`] writes for each element.
pub const DIVISIONS: usize = 8;

/// Eight values for each i: quotient and remainder of a and b as i32, as u32, and those of (2³² · a + b) and (b + 2³⁴)
/// as u64, low half first. All are zero where `b[i]` is zero.
#[kernel]
pub fn divisions(a: &[u32], b: &[u32], out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        let (a, b) = (a[i], b[i]);
        let mut results = [0; DIVISIONS];
        if b != 0 {
            let (signed_a, signed_b) = (a as i32, b as i32);
            let (long_a, long_b) = ((u64::from(a) << 32) + u64::from(b), u64::from(b) + (1 << 34));
            let (quotient, remainder) = (long_a / long_b, long_a % long_b);
            results = [
                signed_a.wrapping_div(signed_b) as u32,
                signed_a.wrapping_rem(signed_b) as u32,
                a / b,
                a % b,
                quotient as u32,
                (quotient >> 32) as u32,
                remainder as u32,
                (remainder >> 32) as u32,
            ];
        }
        for (index, result) in results.into_iter().enumerate() {
            out.set(i * DIVISIONS + index, result);
        }
    }
}

/// The number of values that [`shifts`] writes for each element.
pub const SHIFTS: usize = 10;

/// Ten values for each i, with w = 2³² · high + low and n the shift: w << n, w >> n and the signed w >> n as two halves
/// each, low first, with n modulo 64; low rotated left by n; and three of the four 32-bit words of 2⁶⁴ · w + w shifted
/// right by n modulo 128: the lowest, the third and the highest.
#[kernel]
pub fn shifts(low: &[u32], high: &[u32], shift: &[u32], out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < low.len() {
        let (low, n) = (low[i], shift[i]);
        let wide = (u64::from(high[i]) << 32) | u64::from(low);
        let widest = ((u128::from(wide) << 64) | u128::from(wide)).wrapping_shr(n);
        let (left, right, signed) = (wide.wrapping_shl(n), wide.wrapping_shr(n), (wide as i64).wrapping_shr(n));
        out.set(i * SHIFTS, left as u32);
        out.set(i * SHIFTS + 1, (left >> 32) as u32);
        out.set(i * SHIFTS + 2, right as u32);
        out.set(i * SHIFTS + 3, (right >> 32) as u32);
        out.set(i * SHIFTS + 4, signed as u32);
        out.set(i * SHIFTS + 5, (signed >> 32) as u32);
        out.set(i * SHIFTS + 6, low.rotate_left(n));
        out.set(i * SHIFTS + 7, widest as u32);
        out.set(i * SHIFTS + 8, (widest >> 64) as u32);
        out.set(i * SHIFTS + 9, (widest >> 96) as u32);
    }
}

/// The number of values that [`bits`] writes for each element.
pub const BITS: usize = 8;

/// For each x: the number of its set bits, leading zeros and trailing zeros, the bits and the bytes in reverse order,
/// the absolute value as i32, the upper half of x² as u64, and the saturating sum of its bytes.
#[kernel]
pub fn bits(x: &[u32], out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let x = x[i];
        let sum = x.to_le_bytes().into_iter().fold(0, u8::saturating_add);
        out.set(i * BITS, x.count_ones());
        out.set(i * BITS + 1, x.leading_zeros());
        out.set(i * BITS + 2, x.trailing_zeros());
        out.set(i * BITS + 3, x.reverse_bits());
        out.set(i * BITS + 4, x.swap_bytes());
        out.set(i * BITS + 5, (x as i32).unsigned_abs());
        out.set(i * BITS + 6, ((u64::from(x) * u64::from(x)) >> 32) as u32);
        out.set(i * BITS + 7, u32::from(sum));
    }
}

/// `out[i]` = 255 − `x[i]` for even i; for odd i, `x[i]` as an i8, halved towards zero.
#[kernel]
pub fn bytes(x: &[u8], out: GlobalMut<u8>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let value = x[i];
        out.set(i, if i.is_multiple_of(2) { u8::MAX - value } else { (value as i8 / 2) as u8 });
    }
}

/// The number of values that [`widest`] writes for each element.
pub const WIDEST: usize = 16;

/// Operations on a and b as u128 and, where signs matter, as i128; the number without a value where one has none.
#[kernel]
pub fn widest(a: &[u128], b: &[u128], out: GlobalMut<u128>) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        let (a, b) = (a[i], b[i]);
        let (signed_a, signed_b, shift) = (a as i128, b as i128, b as u32);
        let unsigned = |x: Option<u128>| x.unwrap_or(NO_VALUE);
        let signed = |x: Option<i128>| x.map_or(NO_VALUE, |x| x as u128);
        let results = [
            unsigned(a.checked_div(b)),
            unsigned(a.checked_rem(b)),
            signed(signed_a.checked_div(signed_b)),
            signed(signed_a.checked_rem(signed_b)),
            unsigned(a.checked_mul(b)),
            signed(signed_a.checked_mul(signed_b)),
            a.wrapping_mul(b),
            unsigned(a.checked_add(b)),
            signed(signed_a.checked_sub(signed_b)),
            a.wrapping_shl(shift),
            a.wrapping_shr(shift),
            signed_a.wrapping_shr(shift) as u128,
            a.rotate_left(shift),
            (a.leading_zeros() | a.trailing_zeros() << 8 | a.count_ones() << 16).into(),
            a.reverse_bits() ^ a.swap_bytes(),
            a.isqrt(),
        ];
        for (index, result) in results.into_iter().enumerate() {
            out.set(i * WIDEST + index, result);
        }
    }
}

/// What [`widest`] writes where an operation has no value.
pub const NO_VALUE: u128 = 0xdead << 100;

/// Each integer as u128 and as i128, as floats.
#[kernel]
pub fn widest_to_floats(x: &[u128], singles: GlobalMut<f32>, doubles: GlobalMut<f64>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (unsigned, signed) = (x[i], x[i] as i128);
        singles[2 * i] = unsigned as f32;
        singles[2 * i + 1] = signed as f32;
        doubles[2 * i] = unsigned as f64;
        doubles[2 * i + 1] = signed as f64;
    }
}

/// Each f32 and each f64 as u128 and as i128.
#[kernel]
pub fn floats_to_widest(singles: &[f32], doubles: &[f64], out: GlobalMut<u128>) {
    let i = thread::index_1d() as usize;
    if i < singles.len() {
        out.set(4 * i, to_u128(singles[i]));
        out.set(4 * i + 1, to_i128(singles[i]) as u128);
        out.set(4 * i + 2, to_u128(doubles[i]));
        out.set(4 * i + 3, to_i128(doubles[i]) as u128);
    }
}
