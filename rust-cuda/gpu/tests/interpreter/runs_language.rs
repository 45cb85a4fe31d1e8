//! Kernels that use all features of the kernel language: elements and values of all types, atomic
//! operations, warps and blocks, and unsafe kernels.

use std::collections::HashMap;

use crate::interpreters::{of_pointers, on_every_device, same_everywhere};
use cuda_std::{ArgumentError, Dim3, LaunchConfig};
use gpu::{Device, Error};
use proptest::prelude::*;
use test_kernels::language::{
    ATOMIC_CELLS, Camera, Lens, NO_KEY, OF_THREAD, Scale, TABLE, THREADS, VALUES, adds_within_a_lock, atomics_of_f32,
    atomics_of_f64, atomics_of_i32, atomics_of_i64, atomics_of_u32, atomics_of_u64, indices_in_dimensions,
    inserts_keys, looks_up, passes_through_a_queue, reverse_i8, reverse_i16, reverse_i32, reverse_i64, reverse_i128,
    reverse_u8, reverse_u16, reverse_u32, reverse_u64, reverse_u128, reverses_within_warps, scaled, scans_by_look_back,
    sums_in_the_last_block, values, vecadd, warp_and_block,
};

/// Numbers with bits in all places.
fn numbers(count: usize, seed: u64) -> Vec<u64> {
    (0..count as u64)
        .map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed).rotate_left(i as u32 % 64))
        .collect()
}

/// Declares a test of the kernel that reverses each block's elements, for each integer type.
macro_rules! reversed {
    ($($name:ident: $element:ident;)*) => {
        #[test]
        fn elements_of_all_integers() {
            $(
                for length in [1, 63, 64, 200] {
                    let x: Vec<$element> = numbers(length, 3).iter().map(|&x| (u128::from(x) * u128::from(x)) as $element).collect();
                    let result = same_everywhere(&$name, |device| {
                        let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(length).unwrap());
                        device.launch(&$name, LaunchConfig::for_elements(length, THREADS as u32), (&x, &mut out)).unwrap();
                        out.to_vec().unwrap()
                    });
                    let changed = |(i, x): (usize, &$element)| x.wrapping_mul(3).wrapping_add(i as $element);
                    let mut expected: Vec<$element> = x.iter().enumerate().map(changed).collect();
                    expected.chunks_mut(THREADS).for_each(<[$element]>::reverse);
                    assert_eq!(result, expected, "{} of {length}", stringify!($element));
                }
            )*
        }
    };
}

reversed! {
    reverse_u8: u8;
    reverse_i8: i8;
    reverse_u16: u16;
    reverse_i16: i16;
    reverse_u32: u32;
    reverse_i32: i32;
    reverse_u64: u64;
    reverse_i64: i64;
    reverse_u128: u128;
    reverse_i128: i128;
}

#[test]
fn parameters_of_4096_bytes() {
    let table: [u64; TABLE] = numbers(TABLE, 5).try_into().unwrap();
    let offsets = [1, 0, u32::MAX, 7];
    let result = same_everywhere(&looks_up, |device| {
        let mut out = device.uninitialized(600).unwrap();
        device
            .launch(&looks_up, LaunchConfig::for_elements(600, 64), (101, table.map(|x| x >> 1), &mut out, offsets))
            .unwrap();
        out.to_vec().unwrap()
    });
    let expected = (0..600).map(|i| (table[i * 101 % TABLE] >> 1) + u64::from(offsets[i % 4]));
    assert_eq!(result, expected.collect::<Vec<_>>());
}

#[test]
fn values_of_all_kinds() {
    let lens = Lens { offsets: [[-1, 2], [300, -30_000]], is_wide: [true, false, true, true] };
    let camera = Camera { position: [1.5, -2.0, 0.25], zoom: 8.0, lens };
    for is_negated in [false, true] {
        let result = same_everywhere(&values, |device| {
            let mut out = device.uninitialized(VALUES).unwrap();
            let long = 7 << 96 | 9 << 32 | 11;
            let arguments = (camera, [0.5, 1e300, -3.0], is_negated, -128, 65_535, long, -5, &mut out);
            device.launch(&values, LaunchConfig::new(1, 1), arguments).unwrap();
            out.to_vec().unwrap()
        });
        let sign = if is_negated { -1.0 } else { 1.0 };
        let expected = [
            1.5, -2.0, 0.25, 8.0, -1.0, 2.0, 300.0, -30_000.0, 11.0, 0.5, 1e300, -3.0, -128.0, 65_535.0, 7.0, 9.0,
            11.0, -5.0,
        ];
        assert_eq!(result, expected.map(|value| sign * value));
    }
}

#[test]
fn unsafe_kernels_through_pointers() {
    let a: Vec<f32> = (0..1000).map(|i| i as f32 / 8.0).collect();
    let b: Vec<f32> = (0..1000).map(|i| (1000 - i) as f32).collect();
    // SAFETY: all three buffers have as many elements.
    #[allow(unsafe_code)]
    let vecadd = unsafe { vecadd() };
    let sums = of_pointers(&vecadd, |device| {
        let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
        let mut c = device.uninitialized(1000).unwrap();
        device.launch(&vecadd, LaunchConfig::for_elements(1000, 256), (&a, &b, &mut c))?;
        c.to_vec()
    });
    assert!(sums.iter().zip(a.iter().zip(&b)).all(|(sum, (a, b))| *sum == a + b));

    let x: Vec<i64> = numbers(100, 1).iter().map(|&x| x as i64).collect();
    // SAFETY: both buffers have the length that is passed, and the structure has no padding.
    #[allow(unsafe_code)]
    let scaled = unsafe { scaled() };
    let results = of_pointers(&scaled, |device| {
        let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.zeroed(100).unwrap());
        let scale = Scale { offset: -7, factor: 1 << 31, is_on: 1 };
        device.launch(&scaled, LaunchConfig::for_elements(100, 32), (&x, 100, scale, &mut out))?;
        out.to_vec()
    });
    assert!(results.iter().zip(&x).all(|(result, x)| *result == x.wrapping_mul(1 << 31).wrapping_sub(7)));
}

#[test]
fn an_unsafe_kernels_bug_is_found() {
    let vecadd = {
        // SAFETY: the interpreter checks each access.
        #[allow(unsafe_code)]
        unsafe {
            vecadd()
        }
    };
    for ptx in gpu_testing::fresh_ptx(&test_kernels::PTX) {
        let device = crate::interpreters::device(ptx, gpu::InterpreterOptions::default());
        let a = device.buffer_from_slice(&[1.0; 10]).unwrap();
        let mut c = device.uninitialized(9).unwrap();
        let error = device.launch(&vecadd, LaunchConfig::new(1, 32), (&a, &a, &mut c)).unwrap_err();
        let fault = crate::interpreters::fault_of(&vecadd, &error);
        assert!(fault.place.source.as_ref().is_some_and(|source| source.file.ends_with("language.rs")), "{fault}");
    }
    let (device, simulator) = (Device::simulator(), Device::simulator());
    let (a, mut c) = (device.buffer_from_slice(&[1.0; 4]).unwrap(), simulator.uninitialized(4).unwrap());
    let error = device.launch(&vecadd, LaunchConfig::new(1, 32), (&a, &a, &mut c)).unwrap_err();
    assert!(matches!(error, Error::Argument { error: ArgumentError::UnsafeKernel, .. }), "{error:?}");
}

/// Declares a test of all atomic operations on an integer type.
macro_rules! integer_atomics {
    ($($test:ident: $name:ident of $element:ident;)*) => {$(
        proptest! {
            #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn $test(x in prop::collection::vec(any::<$element>(), 1..400), threads in 1u32..=128) {
                let (cells, failures) = same_everywhere(&$name, |device| {
                    let first = [0, 0, $element::MAX, $element::MIN, !0, 0, 0, 0, 0];
                    let (mut cells, mut failures) = (device.buffer_from_slice(&first).unwrap(), device.zeroed(1).unwrap());
                    let (config, x) = (LaunchConfig::for_elements(x.len(), threads), device.buffer_from_slice(&x).unwrap());
                    device.launch(&$name, config, (&x, &mut cells, &mut failures)).unwrap();
                    (cells.to_vec().unwrap(), failures.to_vec().unwrap())
                });
                let sum = x.iter().fold(0, |sum: $element, x| sum.wrapping_add(*x));
                let expected: [$element; ATOMIC_CELLS] = [
                    sum,
                    sum.wrapping_neg(),
                    *x.iter().min().unwrap(),
                    *x.iter().max().unwrap(),
                    x.iter().fold(!0, |bits, x| bits & x),
                    x.iter().fold(0, |bits, x| bits | x),
                    x.iter().fold(0, |bits, x| bits ^ x),
                    x.iter().fold(0, |sum: $element, x| sum.wrapping_add(x | 1)),
                    sum,
                ];
                prop_assert_eq!(cells, expected);
                prop_assert_eq!(failures, [0]);
            }
        }
    )*};
}

integer_atomics! {
    atomics_on_unsigned_integers: atomics_of_u32 of u32;
    atomics_on_signed_integers: atomics_of_i32 of i32;
    atomics_on_long_unsigned_integers: atomics_of_u64 of u64;
    atomics_on_long_signed_integers: atomics_of_i64 of i64;
}

#[test]
fn atomics_on_floats() {
    // Small integers with exact sums; −0 and a NaN for minimum and maximum.
    for (x, minimum, maximum) in [
        (vec![3.0, -7.0, 5.0, 0.0, 2.0], -7.0, 5.0),
        (vec![1.0; 300], 1.0, 1.0),
        ((0..200).map(|i| f64::from(i % 13) - 20.0).collect(), -20.0, -8.0),
    ] {
        let sum: f64 = x.iter().sum();
        let expected = [sum, -sum, minimum, maximum, sum, sum];
        let config = LaunchConfig::for_elements(x.len(), 64);
        let result = same_everywhere(&atomics_of_f64, |device| {
            let mut cells = device.buffer_from_slice(&[0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0]).unwrap();
            let x = device.buffer_from_slice(&x).unwrap();
            device.launch(&atomics_of_f64, config, (&x, &mut cells)).unwrap();
            cells.to_vec().unwrap()
        });
        assert_eq!(result, expected);
        let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let result = same_everywhere(&atomics_of_f32, |device| {
            let mut cells = device.buffer_from_slice(&[0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, 0.0, 0.0]).unwrap();
            let x = device.buffer_from_slice(&x).unwrap();
            device.launch(&atomics_of_f32, config, (&x, &mut cells)).unwrap();
            cells.to_vec().unwrap()
        });
        assert_eq!(result, expected.map(|value| value as f32));
    }
    for (x, minimum, maximum) in
        [([0.0, -0.0], -0.0, 0.0), ([f64::NAN, 4.0], 4.0, 4.0), ([-f64::NAN, -1.0], -1.0, -1.0)]
    {
        let bits = same_everywhere(&atomics_of_f64, |device| {
            let mut cells = device.buffer_from_slice(&[0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0]).unwrap();
            let x = device.buffer_from_slice(&x).unwrap();
            device.launch(&atomics_of_f64, LaunchConfig::new(1, 32), (&x, &mut cells)).unwrap();
            cells.to_vec().unwrap()[2..4].iter().map(|value| value.to_bits()).collect::<Vec<u64>>()
        });
        assert_eq!(bits, [f64::to_bits(minimum), f64::to_bits(maximum)], "{x:?}");
    }
}

#[test]
fn a_lock_orders_plain_accesses() {
    for (blocks, threads) in [(1, 1), (1, 10), (4, 3)] {
        let count = u64::from(blocks * threads);
        let sums = same_everywhere(&adds_within_a_lock, |device| {
            let (mut lock, mut sums) = (device.zeroed(1).unwrap(), device.zeroed(2).unwrap());
            device.launch(&adds_within_a_lock, LaunchConfig::new(blocks, threads), (&mut lock, &mut sums)).unwrap();
            assert_eq!(lock.to_vec().unwrap(), [0]);
            sums.to_vec().unwrap()
        });
        assert_eq!(sums, [count, count * (count - 1) / 2]);
    }
}

#[test]
fn a_hash_table_has_all_keys() {
    let keys: Vec<u32> = numbers(900, 5).iter().map(|&x| (x >> 40) as u32 % 300).collect();
    let tables = on_every_device(&inserts_keys, |device| {
        let (mut slots, mut counts) = (device.buffer_from_slice(&[NO_KEY; 512]).unwrap(), device.zeroed(512).unwrap());
        let (config, keys) = (LaunchConfig::for_elements(keys.len(), 96), device.buffer_from_slice(&keys).unwrap());
        device.launch(&inserts_keys, config, (&keys, &mut slots, &mut counts)).unwrap();
        let slots = slots.to_vec().unwrap().into_iter().zip(counts.to_vec().unwrap());
        slots.filter(|(key, _)| *key != NO_KEY).collect::<Vec<(u32, u32)>>()
    });
    let mut expected = HashMap::new();
    keys.iter().for_each(|key| *expected.entry(*key).or_insert(0) += 1);
    for (device, table) in tables {
        assert_eq!(table.len(), expected.len(), "{device}: each key once");
        assert_eq!(table.into_iter().collect::<HashMap<u32, u32>>(), expected, "{device}");
    }
}

#[test]
fn a_queue_passes_all_numbers() {
    let numbers: Vec<u32> = numbers(300, 9).iter().map(|&x| x as u32).collect();
    let sum = same_everywhere(&passes_through_a_queue, |device| {
        let count = numbers.len();
        let (mut queue, mut is_full) = (device.uninitialized(count).unwrap(), device.zeroed(count).unwrap());
        let (mut state, mut sum) = (device.zeroed(2).unwrap(), device.zeroed(1).unwrap());
        let (config, numbers) =
            (LaunchConfig::for_elements(2 * count, 50), device.buffer_from_slice(&numbers).unwrap());
        let arguments = (&numbers, &mut queue, &mut is_full, &mut state, &mut sum);
        device.launch(&passes_through_a_queue, config, arguments).unwrap();
        sum.to_vec().unwrap()[0]
    });
    assert_eq!(sum, numbers.iter().map(|&x| u64::from(x)).sum::<u64>());
}

#[test]
fn the_last_block_adds_all_parts() {
    let x: Vec<f32> = (0..1000).map(|i| (i % 17) as f32).collect();
    let sum = same_everywhere(&sums_in_the_last_block, |device| {
        let config = LaunchConfig::for_elements(x.len(), THREADS as u32);
        let (x, mut parts) =
            (device.buffer_from_slice(&x).unwrap(), device.uninitialized(config.grid.x as usize).unwrap());
        let (mut ended, mut sum) = (device.zeroed(1).unwrap(), device.uninitialized(1).unwrap());
        device.launch(&sums_in_the_last_block, config, (&x, &mut parts, &mut ended, &mut sum)).unwrap();
        sum.to_vec().unwrap()
    });
    assert_eq!(sum, [x.iter().sum::<f32>()]);
}

#[test]
fn a_scan_by_look_back() {
    for length in [1, 64, 65, 1500] {
        let x: Vec<u32> = numbers(length, 2).iter().map(|&x| x as u32).collect();
        let result = same_everywhere(&scans_by_look_back, |device| {
            let config = LaunchConfig::for_elements(length, THREADS as u32);
            let blocks = config.grid.x as usize;
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(length).unwrap());
            let (mut ticket, mut states) = (device.zeroed(1).unwrap(), device.zeroed(blocks).unwrap());
            let (mut of_blocks, mut of_all) =
                (device.uninitialized(blocks).unwrap(), device.uninitialized(blocks).unwrap());
            let arguments = (&x, &mut out, &mut ticket, &mut states, &mut of_blocks, &mut of_all);
            device.launch(&scans_by_look_back, config, arguments).unwrap();
            out.to_vec().unwrap()
        });
        let sums = x.iter().scan(0u32, |sum, x| {
            *sum = sum.wrapping_add(*x);
            Some(*sum)
        });
        assert_eq!(result, sums.collect::<Vec<u32>>(), "{length}");
    }
}

#[test]
fn operations_of_warps_and_blocks() {
    for (blocks, threads) in [(1, 32), (3, 64)] {
        let x = numbers((blocks * threads) as usize, 77);
        let result = same_everywhere(&warp_and_block, |device| {
            let (buffer, mut out) =
                (device.buffer_from_slice(&x).unwrap(), device.uninitialized(OF_THREAD * x.len()).unwrap());
            device.launch(&warp_and_block, LaunchConfig::new(blocks, threads), (&buffer, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let low = |x: u64| x as u32;
        for (i, found) in result.chunks(OF_THREAD).enumerate() {
            let (warp, lane, own) = (&x[i - i % 32..][..32], i % 32, x[i]);
            let block = &x[i - i % threads as usize..][..threads as usize];
            let sum = |values: &[u64]| values.iter().fold(0u64, |sum, x| sum.wrapping_add(*x));
            let lanes = |equal: &dyn Fn(u64) -> bool| {
                (0..32).filter(|&other| equal(warp[other])).fold(0, |lanes, other| lanes | 1u64 << other)
            };
            let real = |x: u64| f64::from(low(x) % 1000);
            let expected = [
                warp[lane ^ 5],
                warp[(lane + 1) % 32],
                real(warp[if lane + 3 < 32 { lane + 3 } else { lane }]) as u64,
                sum(warp),
                *warp.iter().min().unwrap(),
                warp.iter().map(|&x| x as i64).max().unwrap() as u64,
                u64::from(warp.iter().fold(!0, |bits, &x| bits & (low(x) | 7))) << 32
                    | warp.iter().fold(0, |bits, &x| bits | x >> 32 & 0xff),
                warp.iter().fold(0, |bits, x| bits ^ x),
                warp.iter().map(|&x| low(x) % 1000).min().unwrap().into(),
                sum(&warp[..=lane]),
                low(sum(&warp[..lane])).into(),
                lanes(&|x| x % 3 == own % 3) << 32 | lanes(&|x| low(x) % 5 == low(own) % 5),
                2,
                block.iter().filter(|&&x| x % 2 == 0).count() as u64,
                block.iter().all(|x| x % 1000 != 0).into(),
                block.iter().any(|x| x % 1000 == 0).into(),
            ];
            assert_eq!(found, expected, "thread {i} of {blocks} × {threads}");
        }
    }
}

#[test]
fn indices_of_all_dimensions() {
    let (grid, block) = (Dim3::new(3, 2, 4), Dim3::new(5, 2, 3));
    let count = (grid.count() * block.count()) as usize;
    let result = same_everywhere(&indices_in_dimensions, |device| {
        let mut out = device.uninitialized(8 * count).unwrap();
        device.launch(&indices_in_dimensions, LaunchConfig::new(grid, block), (&mut out,)).unwrap();
        out.to_vec().unwrap()
    });
    for (i, found) in result.chunks(8).enumerate() {
        let of_block = block.count() as usize;
        let (b, t) = (grid.index_of((i / of_block) as u64), block.index_of((i % of_block) as u64));
        let along = |b: u32, size: u32, t: u32| b * size + t;
        let (x, y, z) = (along(b.x, block.x, t.x), along(b.y, block.y, t.y), along(b.z, block.z, t.z));
        let flat = |index: Dim3| index.x + 100 * index.y + 10_000 * index.z;
        let expected = [x + 1000 * y, x, y, z, flat(t), flat(b), u32::from(i == 0), 5 * 4 + 32];
        assert_eq!(found, expected, "{i}");
    }
}

#[test]
fn warps_without_a_barrier_of_the_block() {
    let x: Vec<u32> = (0..128).collect();
    let result = same_everywhere(&reverses_within_warps, |device| {
        let (buffer, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(x.len()).unwrap());
        device.launch(&reverses_within_warps, LaunchConfig::new(2, 64), (&buffer, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    let expected: Vec<u32> = x.chunks(32).flat_map(|warp| warp.iter().rev().copied()).collect();
    assert_eq!(result, expected);
}
