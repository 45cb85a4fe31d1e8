//! Access patterns (sectors, lines, wavefronts) agree with counts of naive sets.

use std::collections::HashSet;

use proptest::prelude::*;
use ptx_interpreter::memory::{GlobalPattern, SharedPattern, global_pattern, shared_pattern};

fn active(addresses: &[u64; 32], mask: u32) -> Vec<(usize, u64)> {
    (0..32).filter(|lane| mask >> lane & 1 == 1).map(|lane| (lane, addresses[lane])).collect()
}

fn naive_global(addresses: &[u64; 32], mask: u32, bytes: usize) -> GlobalPattern {
    let lanes = active(addresses, mask).into_iter();
    let touched: HashSet<u64> = lanes.flat_map(|(_, address)| address..address + bytes as u64).collect();
    let blocks = |size| touched.iter().map(|byte| byte / size).collect::<HashSet<_>>().len() as u32;
    GlobalPattern { sectors: blocks(32), min_sectors: touched.len().div_ceil(32) as u32, lines: blocks(128) }
}

fn naive_shared(addresses: &[u64; 32], mask: u32, bytes: usize) -> SharedPattern {
    let together = if bytes <= 4 { 32 } else { 128 / bytes };
    let mut pattern = SharedPattern::default();
    for first in (0..32).step_by(together) {
        let lanes = active(addresses, mask).into_iter().filter(|(lane, _)| (first..first + together).contains(lane));
        let touched = lanes.flat_map(|(_, address)| address..address + bytes as u64);
        let words: HashSet<u64> = touched.map(|byte| byte / 4).collect();
        let of_bank = |bank| words.iter().filter(|word| *word % 32 == bank).count() as u32;
        pattern.wavefronts += (0..32).map(of_bank).max().unwrap_or(0);
        pattern.min_wavefronts += words.len().div_ceil(32) as u32;
    }
    pattern
}

/// Addresses like in kernels: strided, permuted, at a few locations, or arbitrary.
fn addresses(alignment: u64) -> impl Strategy<Value = [u64; 32]> {
    let start = (0..4000_u64).prop_map(move |start| (1 << 40) + start * alignment);
    prop_oneof![
        (start.clone(), -40..40_i64).prop_map(move |(start, stride)| std::array::from_fn(|lane| {
            start.wrapping_add_signed(lane as i64 * stride * alignment as i64)
        })),
        (start.clone(), any::<u64>()).prop_map(move |(start, flip)| std::array::from_fn(|lane| {
            start + (lane as u64 ^ (flip % 32)) * alignment
        })),
        (start.clone(), prop::array::uniform32(0..8_u64))
            .prop_map(move |(start, slots)| slots.map(|slot| start + slot * 8 * alignment)),
        (start, prop::array::uniform32(0..1000_u64))
            .prop_map(move |(start, slots)| slots.map(|slot| start + slot * alignment)),
    ]
}

fn masks() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(u32::MAX), 1 => Just(0), 1 => (0..32_u32).prop_map(|lane| 1 << lane), 3 => any::<u32>()]
}

fn accesses() -> impl Strategy<Value = ([u64; 32], u32, usize)> {
    (0..5_u32).prop_flat_map(|log| (addresses(1 << log), masks(), Just(1 << log)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn global_accesses_touch_the_sectors_of_a_set((addresses, mask, bytes) in accesses()) {
        prop_assert_eq!(global_pattern(&addresses, mask, bytes), naive_global(&addresses, mask, bytes));
    }

    #[test]
    fn overlapping_accesses_count_a_byte_once(addresses in addresses(1), mask in masks(), bytes in 1..17_usize) {
        prop_assert_eq!(global_pattern(&addresses, mask, bytes), naive_global(&addresses, mask, bytes));
    }

    #[test]
    fn shared_accesses_take_the_wavefronts_of_the_fullest_bank((addresses, mask, bytes) in accesses()) {
        prop_assert_eq!(shared_pattern(&addresses, mask, bytes), naive_shared(&addresses, mask, bytes));
    }
}

/// 32 addresses with a stride in bytes, starting at a multiple of 128.
fn strided(stride: u64) -> [u64; 32] {
    std::array::from_fn(|lane| 4096 + lane as u64 * stride)
}

#[test]
fn known_global_patterns() {
    let of = |stride, bytes| global_pattern(&strided(stride), u32::MAX, bytes);
    assert_eq!(of(4, 4), GlobalPattern { sectors: 4, min_sectors: 4, lines: 1 });
    assert_eq!(of(8, 4), GlobalPattern { sectors: 8, min_sectors: 4, lines: 2 });
    assert_eq!(of(128, 4), GlobalPattern { sectors: 32, min_sectors: 4, lines: 32 });
    assert_eq!(of(0, 4), GlobalPattern { sectors: 1, min_sectors: 1, lines: 1 });
    assert_eq!(of(16, 16), GlobalPattern { sectors: 16, min_sectors: 16, lines: 4 });
    let misaligned = strided(4).map(|address| address + 4);
    let expected = GlobalPattern { sectors: 5, min_sectors: 4, lines: 2 };
    assert_eq!(global_pattern(&misaligned, u32::MAX, 4), expected);
}

#[test]
fn known_shared_patterns() {
    let of = |stride, bytes| {
        let pattern = shared_pattern(&strided(stride), u32::MAX, bytes);
        (pattern.wavefronts, pattern.min_wavefronts)
    };
    assert_eq!(of(4, 4), (1, 1));
    assert_eq!(of(0, 4), (1, 1), "a broadcast");
    assert_eq!(of(8, 4), (2, 1), "every other word");
    assert_eq!(of(128, 4), (32, 1), "a column of a tile of 32 x 32");
    assert_eq!(of(256, 4), (32, 1), "a column of a tile of 32 x 64");
    assert_eq!(of(132, 4), (1, 1), "a column of a padded tile of 32 x 33");
    assert_eq!(of(8, 8), (2, 2));
    assert_eq!(of(16, 16), (4, 4));
    assert_eq!(of(1, 1), (1, 1));
}
