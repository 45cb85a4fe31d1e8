//! The test kernels' PTX, interpreted with all checks, matches the simulator and plain loops for
//! all sizes.

use crate::interpreters::{on_every_device, same_everywhere};
use cuda_std::{Dim3, F32x4, LaunchConfig};
use proptest::prelude::*;
use test_kernels::stepping::{empty_kernel, grid_barriers, matmul_tiles_f32, max_kernel};
use test_kernels::{
    BINS, PTX, TILE, block_sum, double_precision, functions, grid_sums, histogram, indices, matmul_transpose,
    reverse_blocks, scale_vectors, sums_and_maxima, vector_max, warp_operations,
};

/// Small integers with exact sums and products.
fn integers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 31 + seed * 17) % 23) as f32 - 11.0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn maximum_of_vectors(length in 1usize..3000, threads in 1u32..=1024, seed in 0usize..100) {
        let (a, b) = (integers(length, seed), integers(length, seed + 5));
        let result = same_everywhere(&vector_max, |device| {
            let (x, y) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
            let mut out = device.uninitialized(length).unwrap();
            device.launch(&vector_max, LaunchConfig::for_elements(length, threads), (&x, &y, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect();
        prop_assert_eq!(result, expected);
    }

    #[test]
    fn product_with_the_transpose(rows in 1usize..70, columns in 1usize..70, blocks in 1u32..6, seed in 0usize..100) {
        let x = integers(rows * columns, seed);
        let result = same_everywhere(&matmul_transpose, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(rows * rows).unwrap());
            let config = LaunchConfig::new(blocks, (TILE as u32, TILE as u32));
            device.launch(&matmul_transpose, config, (&x, rows as u32, columns as u32, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (row, column) in (0..rows).flat_map(|row| (0..rows).map(move |column| (row, column))) {
            let expected: f32 = (0..columns).map(|k| x[row * columns + k] * x[column * columns + k]).sum();
            prop_assert_eq!(result[row * rows + column], expected);
        }
    }

    #[test]
    fn sums_of_blocks(length in 1usize..3000, warps in 1u32..=32, seed in 0usize..100) {
        let x = integers(length, seed);
        let config = LaunchConfig::for_elements(length, warps * 32);
        let result = same_everywhere(&block_sum, |device| {
            let x = device.buffer_from_slice(&x).unwrap();
            let mut out = device.uninitialized(config.grid.x as usize).unwrap();
            device.launch(&block_sum, config, (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let expected: Vec<f32> = x.chunks(config.block.x as usize).map(|block| block.iter().sum()).collect();
        prop_assert_eq!(result, expected);
    }

    #[test]
    fn counts_in_bins(x in prop::collection::vec(0u8..BINS as u8, 1..3000), threads in 1u32..=512) {
        let (bins, largest) = same_everywhere(&histogram, |device| {
            let (mut bins, mut largest) = (device.zeroed(BINS).unwrap(), device.buffer_from_slice(&[-1000.0]).unwrap());
            let (config, x) = (LaunchConfig::for_elements(x.len(), threads), device.buffer_from_slice(&x).unwrap());
            device.launch(&histogram, config, (&x, &mut bins, &mut largest)).unwrap();
            (bins.to_vec().unwrap(), largest.to_vec().unwrap())
        });
        let mut expected = vec![0u32; BINS];
        x.iter().for_each(|&value| expected[usize::from(value)] += 1);
        prop_assert_eq!(bins, expected);
        prop_assert_eq!(largest, [f32::from(*x.iter().max().unwrap()) - 100.0]);
    }

    #[test]
    fn sums_and_maxima_by_atomics(length in 1usize..3000, threads in 1u32..=512, shift in -30i32..30) {
        let x: Vec<f32> = integers(length, 1).iter().map(|x| x + shift as f32).collect();
        let (integers, floats) = same_everywhere(&sums_and_maxima, |device| {
            let mut integers = device.buffer_from_slice(&[0, i32::MIN]).unwrap();
            let mut floats = device.buffer_from_slice(&[0.0, f32::NEG_INFINITY]).unwrap();
            let config = LaunchConfig::for_elements(length, threads).with_dynamic_shared(8);
            let x = device.buffer_from_slice(&x).unwrap();
            device.launch(&sums_and_maxima, config, (&x, &mut integers, &mut floats)).unwrap();
            (integers.to_vec().unwrap(), floats.to_vec().unwrap())
        });
        let expected = [x.iter().sum(), x.iter().copied().fold(f32::NEG_INFINITY, f32::max)];
        prop_assert_eq!(&floats, &expected);
        prop_assert_eq!(integers, expected.map(|value| value as i32));
    }

    #[test]
    fn dynamic_shared_memory(length in 1usize..3000, threads in 1u32..=1024, seed in 0usize..100) {
        let x = integers(length, seed);
        let result = same_everywhere(&reverse_blocks, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(length).unwrap());
            let config = LaunchConfig::for_elements(length, threads).with_dynamic_shared(threads * 2 * 4);
            device.launch(&reverse_blocks, config, (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let threads = threads as usize;
        for (i, &value) in result.iter().enumerate() {
            let mirrored = i / threads * threads + threads - 1 - i % threads;
            prop_assert_eq!(value, x.get(mirrored).copied().unwrap_or(0.0));
        }
    }

    #[test]
    fn warp_operations_also_in_a_partial_warp(threads in 1usize..=100, seed in 0i32..50) {
        let x: Vec<i32> = (0..threads as i32).map(|i| (i * 7 + seed) % 11).collect();
        let result = same_everywhere(&warp_operations, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(threads * 6).unwrap());
            device.launch(&warp_operations, LaunchConfig::new(1, threads as u32), (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (t, got) in result.chunks(6).enumerate() {
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
        let result = same_everywhere(&indices, |device| {
            let mut out = device.uninitialized((config.grid.count() * config.block.count()) as usize).unwrap();
            device.launch(&indices, config, (&mut out,)).unwrap();
            out.to_vec().unwrap()
        });
        let mut expected = Vec::new();
        for (block_z, block_y, block_x) in in_order(config.grid) {
            for (z, y, x) in in_order(config.block) {
                expected.push(((block_z * 10 + block_y) * 10 + block_x) * 1000 + (z * 10 + y) * 10 + x);
            }
        }
        prop_assert_eq!(result, expected);
    }

    #[test]
    fn vectors_of_four(length in 1usize..500, scale in -4f32..4.0) {
        let x: Vec<F32x4> = (0..length).map(|i| F32x4::new(i as f32, -1.0, 0.5, 1e3)).collect();
        let result = same_everywhere(&scale_vectors, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(length).unwrap());
            device.launch(&scale_vectors, LaunchConfig::for_elements(length, 64), (&x, scale, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let expected: Vec<F32x4> = x.iter().map(|x| x.to_array().map(|x| scale * x).into()).collect();
        prop_assert_eq!(result, expected);
    }

    /// Blocks synchronize; one barrier state serves launches of different sizes.
    #[test]
    fn cooperative_sums(
        length in 1usize..300, launches in prop::collection::vec((1u32..9, 1u32..70, 1u32..4), 1..4)
    ) {
        let x = integers(length, 3);
        let result = same_everywhere(&grid_sums, |device| {
            let (x, mut values) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(length).unwrap());
            let mut barrier = device.zeroed(1).unwrap();
            let mut all_sums = Vec::new();
            for &(blocks, threads, repeats) in &launches {
                let mut sums = device.uninitialized(repeats as usize).unwrap();
                let config = LaunchConfig::new(blocks, threads).cooperative();
                device.launch(&grid_sums, config, (&x, repeats, &mut values, &mut barrier, &mut sums)).unwrap();
                all_sums.extend(sums.to_vec().unwrap());
            }
            (all_sums, barrier.to_vec().unwrap())
        });
        let repeats: u32 = launches.iter().map(|(_, _, repeats)| repeats).sum();
        prop_assert_eq!(result.0, vec![x.iter().sum::<f32>(); repeats as usize]);
    }
}

fn in_order(size: Dim3) -> impl Iterator<Item = (u32, u32, u32)> {
    (0..size.z).flat_map(move |z| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| (z, y, x))))
}

#[test]
fn functions_of_math() {
    let x = [-3.0f32, -0.5, 0.25, 1.0, 20.0];
    let results = on_every_device(&functions, |device| {
        let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(8 * x.len()).unwrap());
        device.launch(&functions, LaunchConfig::new(1, 32), (&x, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    for (device, result) in results {
        for (x, got) in x.into_iter().zip(result.chunks(8)) {
            let expected = [x.exp(), x.tanh(), x.abs().sqrt(), x.recip()];
            for (index, (got, expected)) in got.iter().zip(expected.iter().cycle()).enumerate() {
                // tanh.approx.f32 has a maximum relative error of 2⁻¹¹ (PTX ISA).
                let bound = if index == 5 { 6e-4 } else { 1e-5 };
                let near = (got - expected).abs() <= expected.abs() * bound;
                assert!(near, "function {index} of {x} on the {device}: {got}, not {expected}");
            }
        }
    }
}

#[test]
fn double_precision_in_place() {
    let result = same_everywhere(&double_precision, |device| {
        let (x, mut y) =
            (device.buffer_from_slice(&[2.0, 4.0]).unwrap(), device.buffer_from_slice(&[3.0, 4.0]).unwrap());
        device.launch(&double_precision, LaunchConfig::new(1, 2), (3.0, &x, &mut y)).unwrap();
        y.to_vec().unwrap()
    });
    assert_eq!(result, [3.0, 4.0]);
}

/// The kernels that the debugger's tests step through.
#[test]
fn kernels_to_step_through() {
    let (a, b) = ([3, -5, 7, 0, 9], [4, -6, 7, 1, -9]);
    let result = same_everywhere(&max_kernel, |device| {
        device.launch(&empty_kernel, LaunchConfig::new(2, 32), ()).unwrap();
        let mut barrier = device.buffer_from_slice(&[0_u32]).unwrap();
        let cooperative = LaunchConfig::new(2, 32).cooperative();
        device.launch(&grid_barriers, cooperative, (3, &mut barrier)).unwrap();
        let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
        let mut out = device.uninitialized(5).unwrap();
        device.launch(&max_kernel, LaunchConfig::new(2, 2), (&a, &b, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    assert_eq!(result, [4, -5, 7, 1, 9]);
    let (rows, columns) = (33, 5);
    let x = integers(rows * columns, 1);
    let result = same_everywhere(&matmul_tiles_f32, |device| {
        let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(rows * rows).unwrap());
        let sizes = (rows as u32, columns as u32);
        device.launch(&matmul_tiles_f32, LaunchConfig::new(1, 1024), (&x, sizes.0, sizes.1, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    let cell = |i: usize, j: usize| (0..columns).map(|p| x[i * columns + p] * x[j * columns + p]).sum::<f32>();
    let expected: Vec<f32> = (0..rows * rows).map(|index| cell(index / rows, index % rows)).collect();
    assert_eq!(result, expected);
}

/// Every kernel in the PTX has a test, here or in a sibling module.
#[test]
fn every_kernel_is_run() {
    let tests = [
        include_str!("runs_test_kernels.rs"),
        include_str!("runs_instructions.rs"),
        include_str!("runs_kernels_of_others.rs"),
        include_str!("runs_floats.rs"),
        include_str!("runs_language.rs"),
        include_str!("runs_matrices.rs"),
        include_str!("runs_generic_kernels.rs"),
        include_str!("runs_groups.rs"),
        include_str!("runs_speaking_kernels.rs"),
        include_str!("runs_panicking_kernels.rs"),
        include_str!("runs_ports.rs"),
        include_str!("runs_wide_integers.rs"),
        include_str!("runs_teaching_kernels/arrays.rs"),
        include_str!("runs_teaching_kernels/combinations.rs"),
        include_str!("runs_teaching_kernels/irregular.rs"),
        include_str!("runs_teaching_kernels/simulations.rs"),
        include_str!("runs_teaching_kernels/sorting.rs"),
    ];
    for ptx in PTX {
        let names: Vec<_> =
            ptx.text().split(".visible .entry ").skip(1).filter_map(|rest| rest.split('(').next()).collect();
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            // Covers all instances of a generic kernel.
            let name = name.split("__").next().unwrap();
            // The last two match lines of macros that declare tests.
            let calls = [
                format!("launch(&{name}, "),
                format!("launched!({name})"),
                format!("launch(&{name}::<"),
                format!("results!({name}, "),
                format!("results!({name}::<"),
                format!("product!({name}, "),
                format!("product!({name}::<"),
                format!("launch_atomics(\"{name}\""),
                format!("    {name}: "),
                format!(": {name} of "),
            ];
            assert!(tests.iter().any(|test| calls.iter().any(|call| test.contains(call))), "no test launches {name}");
        }
    }
}
