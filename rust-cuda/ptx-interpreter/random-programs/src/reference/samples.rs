//! Operands: boundary values of a type, and random values.

use super::exact::Layout;
use ptx_interpreter::syntax::ScalarType;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt};

/// The boundary values of a type.
pub fn edges(t: ScalarType) -> Vec<u64> {
    let name = format!("{t:?}").to_lowercase();
    if let Some(half) = name.strip_suffix("x2") {
        let layout = Layout::of(half).expect("a pair of halves");
        let halves = float_edges(layout);
        return halves.iter().enumerate().map(|(i, low)| low | halves[(i * 7 + 3) % halves.len()] << 16).collect();
    }
    match Layout::of(&name) {
        Some(layout) => float_edges(layout),
        None => integer_edges(t.bytes() as u32 * 8),
    }
}

fn integer_edges(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let top = 1 << (bits - 1);
    let middle = 1 << (bits / 2);
    [0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0xff_ffff, 0x80_0000, 0x8000_0000]
        .into_iter()
        .chain([top, top - 1, top + 1, mask, mask - 1, middle, middle - 1, middle + 1])
        .map(|value: u64| value & mask)
        .collect()
}

fn float_edges(layout: Layout) -> Vec<u64> {
    let infinity = layout.infinity();
    let fraction = 1u64 << (layout.precision - 1);
    let one = layout.one();
    let mut magnitudes = vec![0, 1, 2, 3, fraction - 1, fraction, fraction + 1, infinity - 1, infinity - 2, infinity];
    // Quiet and signaling NaNs with several payloads.
    magnitudes.extend([infinity + 1, infinity | fraction >> 1, infinity | fraction >> 1 | 3, layout.sign() - 1]);
    magnitudes.extend([one, one - 1, one + 1, one - 2, one | fraction >> 1, one + fraction]);
    // Powers of two: ½, ¼, and the limits of integers and other formats.
    for exponent in [-1, -2, -8, -14, -15, -24, -25, -126, -127, -133, -149, -150, 1, 7, 8, 10, 11, 15, 16, 23, 24] {
        magnitudes.extend(around(layout, exponent));
    }
    for exponent in [31, 32, 52, 53, 63, 64, 126, 127, 128] {
        magnitudes.extend(around(layout, exponent));
    }
    magnitudes.iter().flat_map(|magnitude| [*magnitude, magnitude | layout.sign()]).collect()
}

/// 2^exponent, its two neighbors, and 1.5 · 2^exponent.
fn around(layout: Layout, exponent: i64) -> Vec<u64> {
    let bits = layout.one() as i64 + (exponent << (layout.precision - 1));
    if bits <= 0 || bits as u64 >= layout.infinity() {
        return Vec::new();
    }
    let bits = bits as u64;
    vec![bits, bits - 1, bits + 1, bits | 1 << (layout.precision - 2)]
}

/// A random value: any bits, or a value of moderate magnitude.
pub fn random(t: ScalarType, random: &mut ChaCha8Rng) -> u64 {
    let bits = random.next_u64() >> (64 - 8 * t.bytes() as u32);
    let name = format!("{t:?}").to_lowercase();
    match Layout::of(&name) {
        Some(layout) if random.random() => {
            let near = (layout.one() >> (layout.precision - 1)).saturating_add_signed(random.random_range(-13..13));
            bits & layout.sign() | near << (layout.precision - 1) | bits & ((1 << (layout.precision - 1)) - 1)
        }
        None if random.random() => bits >> random.random_range(0..8 * t.bytes() as u32),
        _ => bits,
    }
}
