//! Sorting, and the largest elements.

use cuda_std::LaunchConfig;
use test_kernels::teaching::sorting::{
    DIGIT_BITS, DIGITS, SORTED, THREADS, bitonic_sort, radix_count, radix_scatter, top_k,
};

use super::{floats, words};
use crate::interpreters::same_everywhere;

#[test]
fn a_bitonic_sort_of_blocks() {
    for length in [0, 1, 2, 127, 128, 129, 500] {
        // Random words, words with many duplicates including the largest word, and a descending
        // sequence.
        let few = words(length, 30).iter().map(|word| u32::MAX - word % 9).collect();
        for x in [words(length, 31), few, (0..length as u32).rev().collect()] {
            let found = same_everywhere(&bitonic_sort, |device| {
                let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(length).unwrap());
                let config = LaunchConfig::new(length.div_ceil(SORTED).max(1) as u32, SORTED as u32 / 2);
                device.launch(&bitonic_sort, config, (&x, &mut out)).unwrap();
                out.to_vec().unwrap()
            });
            let mut expected = x;
            expected.chunks_mut(SORTED).for_each(<[u32]>::sort);
            assert_eq!(found, expected, "{length}");
        }
    }
}

/// Each pass is a stable sort by one digit, so all passes together sort.
#[test]
fn passes_of_radix_sort() {
    for length in [0, 1, 31, 127, 128, 129, 400] {
        let mut keys = words(length, 32);
        let mut sorted = keys.clone();
        sorted.sort();
        for shift in (0..u32::BITS).step_by(DIGIT_BITS as usize) {
            let blocks = length.div_ceil(THREADS).max(1);
            let config = LaunchConfig::new(blocks as u32, THREADS as u32);
            let counts = same_everywhere(&radix_count, |device| {
                let (keys, mut counts) =
                    (device.buffer_from_slice(&keys).unwrap(), device.uninitialized(DIGITS * blocks).unwrap());
                device.launch(&radix_count, config, (&keys, shift, &mut counts)).unwrap();
                counts.to_vec().unwrap()
            });
            let digit_of = |key: u32| (key >> shift & 15) as usize;
            let count = |i: usize| {
                let of_block = keys.iter().skip(i % blocks * THREADS).take(THREADS);
                of_block.filter(|&&key| digit_of(key) == i / blocks).count() as u32
            };
            assert_eq!(counts, (0..DIGITS * blocks).map(count).collect::<Vec<_>>(), "{length}, shift {shift}");
            let starts: Vec<u32> = (0..counts.len()).map(|i| counts[..i].iter().sum()).collect();
            let found = same_everywhere(&radix_scatter, |device| {
                let (keys, starts) =
                    (device.buffer_from_slice(&keys).unwrap(), device.buffer_from_slice(&starts).unwrap());
                let mut out = device.uninitialized(length).unwrap();
                device.launch(&radix_scatter, config, (&keys, shift, &starts, &mut out)).unwrap();
                out.to_vec().unwrap()
            });
            keys.sort_by_key(|&key| digit_of(key));
            assert_eq!(found, keys, "{length}, shift {shift}");
        }
        assert_eq!(keys, sorted);
    }
}

#[test]
fn the_largest_elements_of_rows() {
    for (rows, columns, k) in [(0, 0, 0), (1, 1, 1), (2, 31, 0), (3, 32, 32), (5, 33, 4), (2, 100, 7)] {
        let mut x = floats(rows * columns, 33);
        if columns == 33 {
            // Equal elements, both zeros, and infinities, in the first three rows.
            x[..33].fill(0.5);
            x[40..60].fill(2.0);
            x[66..99].fill(f32::NEG_INFINITY);
            x[80..84].copy_from_slice(&[-0.0, 0.0, f32::INFINITY, -1.0]);
        }
        let (values, indices) = same_everywhere(&top_k, |device| {
            let x = device.buffer_from_slice(&x).unwrap();
            let (mut values, mut indices) =
                (device.uninitialized(rows * k).unwrap(), device.uninitialized(rows * k).unwrap());
            let config = LaunchConfig::for_elements(32 * rows, 64);
            device.launch(&top_k, config, (&x, columns as u32, k as u32, &mut values, &mut indices)).unwrap();
            let values: Vec<u32> = values.to_vec().unwrap().iter().map(|value: &f32| value.to_bits()).collect();
            (values, indices.to_vec().unwrap())
        });
        let mut expected = (Vec::new(), Vec::new());
        for row in x.chunks(columns.max(1)) {
            let mut order: Vec<usize> = (0..columns).collect();
            order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
            expected.0.extend(order[..k].iter().map(|&column| row[column].to_bits()));
            expected.1.extend(order[..k].iter().map(|&column| column as u32));
        }
        assert_eq!((values, indices), expected, "{k} of {rows} × {columns}");
    }
}
