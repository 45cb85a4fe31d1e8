//! Correct kernels give the results of plain loops for all sizes, and pass all checks.

use cuda_std::simulator::{self, Options, SimulatorBuffer};
use cuda_std::{Dim3, F32x4, LaunchConfig};
use proptest::prelude::*;
use test_kernels::{BINS, TILE};

/// Small integers, whose sums and products are exact.
fn integers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 31 + seed * 17) % 23) as f32 - 11.0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn vector_max(length in 1usize..3000, threads in 1u32..=1024, seed in 0usize..100) {
        let (a, b) = (integers(length, seed), integers(length, seed + 5));
        let mut out = SimulatorBuffer::uninitialized(length);
        let config = LaunchConfig::for_elements(length, threads);
        let arguments = (&SimulatorBuffer::from_slice(&a), &SimulatorBuffer::from_slice(&b), &mut out);
        let report = simulator::launch(&test_kernels::vector_max, config, arguments).unwrap();
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect();
        prop_assert_eq!(out.as_slice(), &expected[..]);
        prop_assert_eq!(out.first_unwritten(), None);
        prop_assert_eq!((report.global_loads, report.global_stores), (2 * length as u64, length as u64));
        prop_assert_eq!(report.threads, config.grid.count() * u64::from(threads));
    }

    #[test]
    fn matmul_transpose(rows in 1usize..70, columns in 1usize..70, blocks in 1u32..6, seed in 0usize..100) {
        let x = integers(rows * columns, seed);
        let mut out = SimulatorBuffer::uninitialized(rows * rows);
        let config = LaunchConfig::new(blocks, (TILE as u32, TILE as u32));
        let arguments = (&SimulatorBuffer::from_slice(&x), rows as u32, columns as u32, &mut out);
        simulator::launch(&test_kernels::matmul_transpose, config, arguments).unwrap();
        for row in 0..rows {
            for column in 0..rows {
                let expected: f32 = (0..columns).map(|k| x[row * columns + k] * x[column * columns + k]).sum();
                prop_assert_eq!(out.as_slice()[row * rows + column], expected);
            }
        }
    }

    #[test]
    fn block_sum(length in 1usize..3000, warps in 1u32..=32, seed in 0usize..100) {
        let x = integers(length, seed);
        let config = LaunchConfig::for_elements(length, warps * 32);
        let mut out = SimulatorBuffer::uninitialized(config.grid.x as usize);
        simulator::launch(&test_kernels::block_sum, config, (&SimulatorBuffer::from_slice(&x), &mut out)).unwrap();
        let expected: Vec<f32> = x.chunks(config.block.x as usize).map(|block| block.iter().sum()).collect();
        prop_assert_eq!(out.as_slice(), &expected[..]);
    }

    #[test]
    fn histogram(x in prop::collection::vec(0u8..BINS as u8, 1..3000), threads in 1u32..=512, check_races: bool) {
        let (mut bins, mut largest) = (SimulatorBuffer::filled(0, BINS), SimulatorBuffer::filled(-1000.0, 1));
        let options = Options { check_races, ..Options::default() };
        let arguments = (&SimulatorBuffer::from_slice(&x), &mut bins, &mut largest);
        let config = LaunchConfig::for_elements(x.len(), threads);
        simulator::launch_with(options, &test_kernels::histogram, config, arguments).unwrap();
        let mut expected = vec![0u32; BINS];
        x.iter().for_each(|&value| expected[usize::from(value)] += 1);
        prop_assert_eq!(bins.to_vec(), expected);
        prop_assert_eq!(largest.to_vec()[0], f32::from(*x.iter().max().unwrap()) - 100.0);
    }

    #[test]
    fn sums_and_maxima(length in 1usize..3000, threads in 1u32..=512, shift in -30i32..30, check_races: bool) {
        let x: Vec<f32> = integers(length, 1).iter().map(|x| x + shift as f32).collect();
        let mut integers = SimulatorBuffer::from_slice(&[0, i32::MIN]);
        let mut floats = SimulatorBuffer::from_slice(&[0.0, f32::NEG_INFINITY]);
        let options = Options { check_races, ..Options::default() };
        let config = LaunchConfig::for_elements(length, threads).with_dynamic_shared(8);
        let arguments = (&SimulatorBuffer::from_slice(&x), &mut integers, &mut floats);
        simulator::launch_with(options, &test_kernels::sums_and_maxima, config, arguments).unwrap();
        let expected = [x.iter().sum(), x.iter().copied().fold(f32::NEG_INFINITY, f32::max)];
        prop_assert_eq!(floats.to_vec(), expected);
        prop_assert_eq!(integers.to_vec(), expected.map(|value| value as i32));
    }

    #[test]
    fn dynamic_shared_memory(length in 1usize..3000, threads in 1u32..=1024, seed in 0usize..100) {
        let x = integers(length, seed);
        let mut out = SimulatorBuffer::uninitialized(length);
        let config = LaunchConfig::for_elements(length, threads).with_dynamic_shared(threads * 2 * 4);
        simulator::launch(&test_kernels::reverse_blocks, config, (&SimulatorBuffer::from_slice(&x), &mut out)).unwrap();
        let threads = threads as usize;
        for (i, &value) in out.as_slice().iter().enumerate() {
            let mirrored = i / threads * threads + threads - 1 - i % threads;
            prop_assert_eq!(value, x.get(mirrored).copied().unwrap_or(0.0));
        }
    }

    #[test]
    fn warp_operations_also_in_a_partial_warp(threads in 1usize..=100, seed in 0i32..50) {
        let x: Vec<i32> = (0..threads as i32).map(|i| (i * 7 + seed) % 11).collect();
        let mut out = SimulatorBuffer::uninitialized(threads * 6);
        let config = LaunchConfig::new(1, threads as u32);
        simulator::launch(&test_kernels::warp_operations, config, (&SimulatorBuffer::from_slice(&x), &mut out)).unwrap();
        for (t, got) in out.as_slice().chunks(6).enumerate() {
            let (lane, first) = (t % 32, t - t % 32);
            let warp = &x[first..threads.min(first + 32)];
            let even = warp.iter().enumerate().filter(|(_, value)| *value % 2 == 0);
            let ballot = even.fold(0u32, |bits, (lane, _)| bits | 1 << lane);
            let expected = [
                warp[lane.saturating_sub(1)],
                warp[0],
                ballot as i32,
                i32::from(warp.contains(&7)),
                i32::from(warp.iter().all(|&value| value > 0)),
                lane as i32,
            ];
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn indices_in_three_dimensions(grid in (1u32..5, 1u32..5, 1u32..5), block in (1u32..8, 1u32..8, 1u32..8)) {
        let config = LaunchConfig::new(grid, block);
        let mut out = SimulatorBuffer::uninitialized((config.grid.count() * config.block.count()) as usize);
        simulator::launch(&test_kernels::indices, config, (&mut out,)).unwrap();
        let mut expected = Vec::new();
        for (block_z, block_y, block_x) in in_order(config.grid) {
            for (z, y, x) in in_order(config.block) {
                expected.push(((block_z * 10 + block_y) * 10 + block_x) * 1000 + (z * 10 + y) * 10 + x);
            }
        }
        prop_assert_eq!(out.to_vec(), expected);
    }

    #[test]
    fn vectors_of_four(length in 1usize..500, scale in -4f32..4.0) {
        let x: Vec<F32x4> = (0..length).map(|i| F32x4::new(i as f32, -1.0, 0.5, 1e3)).collect();
        let mut out = SimulatorBuffer::uninitialized(length);
        let arguments = (&SimulatorBuffer::from_slice(&x), scale, &mut out);
        simulator::launch(&test_kernels::scale_vectors, LaunchConfig::for_elements(length, 64), arguments).unwrap();
        let expected: Vec<F32x4> = x.iter().map(|x| x.to_array().map(|x| scale * x).into()).collect();
        prop_assert_eq!(out.as_slice(), &expected[..]);
    }
}

fn in_order(size: Dim3) -> impl Iterator<Item = (u32, u32, u32)> {
    (0..size.z).flat_map(move |z| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| (z, y, x))))
}

#[test]
fn functions_of_math() {
    let x = [-3.0f32, -0.5, 0.25, 1.0, 20.0];
    let mut out = SimulatorBuffer::uninitialized(8 * x.len());
    let arguments = (&SimulatorBuffer::from_slice(&x), &mut out);
    simulator::launch(&test_kernels::functions, LaunchConfig::new(1, 32), arguments).unwrap();
    for (x, got) in x.into_iter().zip(out.as_slice().chunks(8)) {
        let expected = [x.exp(), x.tanh(), x.abs().sqrt(), x.recip()];
        for (index, (got, expected)) in got.iter().zip(expected.iter().cycle()).enumerate() {
            assert!((got - expected).abs() <= expected.abs() * 1e-5, "function {index} of {x}: {got}, not {expected}");
        }
    }
}

#[test]
fn double_precision() {
    let (x, mut y) = (SimulatorBuffer::from_slice(&[2.0, 4.0]), SimulatorBuffer::from_slice(&[3.0, 4.0]));
    simulator::launch(&test_kernels::double_precision, LaunchConfig::new(1, 2), (3.0, &x, &mut y)).unwrap();
    assert_eq!(y.to_vec(), [3.0, 4.0]);
}
