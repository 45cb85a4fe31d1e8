//! Kernels that combine elements: reductions, scans, a histogram, and row operations.

use cuda_std::LaunchConfig;
use test_kernels::teaching::histogram::{BINS, byte_histogram};
use test_kernels::teaching::reductions::{
    THREADS, reduce_add_during_load, reduce_by_atomics, reduce_by_shuffles, reduce_interleaved,
    reduce_interleaved_divergent, reduce_sequential,
};
use test_kernels::teaching::rows::{self, layer_norm, softmax_rows};
use test_kernels::teaching::scans::{ELEMENTS, add_previous_blocks, scan_blelloch, scan_hillis_steele};

use super::{floats, sum_error, words};
use crate::interpreters::{on_every_device, same_everywhere};

/// Small integers with exact sums in f32.
fn integers(length: usize, seed: u64) -> Vec<f32> {
    words(length, seed).iter().map(|word| (word % 201) as f32 - 100.0).collect()
}

/// Checks a sum: exactly for integers, otherwise within the error bound.
fn check_sum(name: &str, x: &[f32], sum: f32, is_exact: bool) {
    let terms = || x.iter().map(|&x| f64::from(x));
    let bound = if is_exact { 0.0 } else { sum_error(terms()) };
    let expected: f64 = terms().sum();
    assert!((f64::from(sum) - expected).abs() <= bound, "{name} of {}: {sum}, not {expected}", x.len());
}

/// Declares a test of kernels that write the sum of each block with the given number of elements.
macro_rules! reductions {
    ($($name:ident: $elements:expr;)*) => {
        #[test]
        fn reductions_of_blocks() {$(
            for length in [0, 1, 127, 128, 129, 257, 1000] {
                for (x, is_exact) in [(integers(length, 10), true), (floats(length, 11), false)] {
                    let sum = same_everywhere(&$name, |device| {
                        let mut values = device.buffer_from_slice(&x).unwrap();
                        loop {
                            let blocks = values.len().div_ceil($elements).max(1);
                            let mut sums = device.uninitialized(blocks).unwrap();
                            let config = LaunchConfig::new(blocks as u32, THREADS as u32);
                            device.launch(&$name, config, (&values, &mut sums)).unwrap();
                            if blocks == 1 {
                                break sums.to_vec().unwrap()[0];
                            }
                            values = sums;
                        }
                    });
                    check_sum(stringify!($name), &x, sum, is_exact);
                }
            }
        )*}
    };
}

reductions! {
    reduce_interleaved_divergent: THREADS;
    reduce_interleaved: THREADS;
    reduce_sequential: THREADS;
    reduce_add_during_load: 2 * THREADS;
    reduce_by_shuffles: THREADS;
}

#[test]
fn a_reduction_by_atomics() {
    for length in [0, 1, 127, 129, 1000] {
        for (x, is_exact) in [(integers(length, 12), true), (floats(length, 13), false)] {
            for (blocks, threads) in [(1, 32), (3, 96)] {
                let sums = on_every_device(&reduce_by_atomics, |device| {
                    let (x, mut sum) = (device.buffer_from_slice(&x).unwrap(), device.zeroed(1).unwrap());
                    device.launch(&reduce_by_atomics, LaunchConfig::new(blocks, threads), (&x, &mut sum)).unwrap();
                    sum.to_vec().unwrap()[0]
                });
                for (device, sum) in sums {
                    check_sum(&device, &x, sum, is_exact);
                }
            }
        }
    }
}

/// Declares a test of kernels that scan blocks with the given number of threads.
macro_rules! scans {
    ($($name:ident: $threads:expr;)*) => {
        #[test]
        fn scans_in_three_launches() {$(
            for length in [0, 1, 2, 127, 128, 129, 1500] {
                let x = words(length, 14);
                let (found, total) = same_everywhere(&$name, |device| {
                    let blocks = length.div_ceil(ELEMENTS).max(1);
                    let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(length).unwrap());
                    let mut sums = device.uninitialized(blocks).unwrap();
                    let config = LaunchConfig::new(blocks as u32, $threads as u32);
                    device.launch(&$name, config, (&x, &mut out, &mut sums)).unwrap();
                    let (mut scanned, mut total) =
                        (device.uninitialized(blocks).unwrap(), device.uninitialized(1).unwrap());
                    let config = LaunchConfig::new(1, $threads as u32);
                    device.launch(&$name, config, (&sums, &mut scanned, &mut total)).unwrap();
                    let config = LaunchConfig::new(blocks as u32, ELEMENTS as u32);
                    device.launch(&add_previous_blocks, config, (&scanned, &mut out)).unwrap();
                    (out.to_vec().unwrap(), total.to_vec().unwrap()[0])
                });
                let mut sum = 0u32;
                let mut expected = Vec::new();
                for x in x {
                    sum = sum.wrapping_add(x);
                    expected.push(sum);
                }
                assert_eq!(found, expected, "{} of {length}", stringify!($name));
                assert_eq!(total, sum, "{} of {length}", stringify!($name));
            }
        )*}
    };
}

scans! {
    scan_hillis_steele: ELEMENTS;
    scan_blelloch: ELEMENTS / 2;
}

#[test]
fn a_histogram_of_bytes() {
    for length in [0, 1, 1000] {
        for (blocks, threads) in [(1, 1), (1, 256), (3, 100), (2, 512)] {
            // The squares of bytes give the bins different counts.
            let x: Vec<u8> = words(length, 15).iter().map(|word| ((word >> 24).pow(2) >> 8) as u8).collect();
            let found = same_everywhere(&byte_histogram, |device| {
                let mut bins = device.buffer_from_slice(&[7; BINS]).unwrap();
                let x = device.buffer_from_slice(&x).unwrap();
                device.launch(&byte_histogram, LaunchConfig::new(blocks, threads), (&x, &mut bins)).unwrap();
                bins.to_vec().unwrap()
            });
            let count = |bin: usize| 7 + x.iter().filter(|&&x| usize::from(x) == bin).count() as u32;
            assert_eq!(found, (0..BINS).map(count).collect::<Vec<_>>(), "{length} by {blocks} × {threads}");
        }
    }
}

/// Within 64 units in the last place: the exponents x − m, down to −40, have errors of 20 units,
/// and the sums of at most 100 powers have smaller errors.
#[test]
fn softmax_of_rows() {
    for (rows, columns) in [(0, 0), (1, 1), (3, 31), (5, 32), (2, 33), (7, 100)] {
        let mut x: Vec<f32> = floats(rows * columns, 16).iter().map(|x| 20.0 * x).collect();
        if columns == 31 {
            // Exponentials of these overflow.
            x[..3].copy_from_slice(&[3e38, -3e38, 3e38]);
        }
        let found = same_everywhere(&softmax_rows, |device| {
            let (buffer, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(x.len()).unwrap());
            let config = LaunchConfig::for_elements(32 * rows, 64);
            device.launch(&softmax_rows, config, (&buffer, columns as u32, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (x, found) in x.chunks(columns.max(1)).zip(found.chunks(columns.max(1))) {
            let maximum = f64::from(x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let powers: Vec<f64> = x.iter().map(|&x| (f64::from(x) - maximum).exp()).collect();
            let sum: f64 = powers.iter().sum();
            for (found, power) in found.iter().zip(powers) {
                let (found, expected) = (f64::from(*found), power / sum);
                let bound = 64.0 * f64::from(f32::EPSILON) * expected;
                assert!((found - expected).abs() <= bound, "{rows} × {columns}: {found}, not {expected}");
            }
        }
    }
}

/// Within 10⁻⁵: a row's elements are about 1 and its deviation is more than 0.1.
#[test]
fn layer_normalisation() {
    let epsilon = 1e-5;
    for (rows, columns) in [(1, 1), (2, 5), (3, 64), (1, 65), (4, 150)] {
        let (x, scale, shift) = (floats(rows * columns, 17), floats(columns, 18), floats(columns, 19));
        let found = same_everywhere(&layer_norm, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(x.len()).unwrap());
            let (scale, shift) = (device.buffer_from_slice(&scale).unwrap(), device.buffer_from_slice(&shift).unwrap());
            let config = LaunchConfig::new(rows as u32, rows::THREADS as u32);
            device.launch(&layer_norm, config, (&x, &scale, &shift, epsilon, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (x, found) in x.chunks(columns).zip(found.chunks(columns)) {
            let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / columns as f64;
            let variance = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / columns as f64;
            let deviation = (variance + f64::from(epsilon)).sqrt();
            for (column, found) in found.iter().enumerate() {
                let normal = (f64::from(x[column]) - mean) / deviation;
                let expected = f64::from(scale[column]) * normal + f64::from(shift[column]);
                assert!((f64::from(*found) - expected).abs() <= 1e-5, "{rows} × {columns}: {found}, not {expected}");
            }
        }
    }
}
