//! Writes before a grid barrier are visible to all blocks after it.

use cuda_std::simulator::{self, LaunchError, Options, SimulatorBuffer, max_cooperative_blocks};
use cuda_std::{GlobalMut, LaunchConfig, Search, grid, kernel, shared_array, thread, warp};
use proptest::prelude::*;
use test_kernels::grid_sums;

/// The number of grid barriers that [`grid_sums`] passes per repeat for `length` elements.
fn rounds(mut length: usize) -> u64 {
    let mut rounds = 1;
    while length > 1 {
        length = length.div_ceil(2);
        rounds += 1;
    }
    rounds
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grid_sums_reuses_its_buffer_and_barrier(
        length in 1usize..500, launches in prop::collection::vec((1u32..12, 1u32..70, 1u32..4), 1..4), check_races: bool
    ) {
        let x: Vec<f32> = (0..length).map(|i| ((i * 31) % 23) as f32 - 11.0).collect();
        let mut values = SimulatorBuffer::uninitialized(length);
        let mut barrier = SimulatorBuffer::filled(0, 1);
        let options = Options { check_races, search: Search { runs: 4, ..Search::TWO }, ..Options::default() };
        let mut passed = 0;
        // All launches share one barrier state, even with different sizes.
        for (blocks, threads, repeats) in launches {
            let mut sums = SimulatorBuffer::uninitialized(repeats as usize);
            let config = LaunchConfig::new(blocks, threads).cooperative();
            let arguments = (&SimulatorBuffer::from_slice(&x), repeats, &mut values, &mut barrier, &mut sums);
            let report = simulator::launch_with(options.clone(), &grid_sums, config, arguments).unwrap();
            prop_assert_eq!(sums.to_vec(), vec![x.iter().sum::<f32>(); repeats as usize]);

            let (repeats, elements) = (u64::from(repeats), length as u64);
            prop_assert_eq!(report.grid_barriers, repeats * rounds(length));
            prop_assert_eq!(report.barriers, report.grid_barriers * u64::from(blocks));
            prop_assert_eq!(report.atomics, report.barriers);
            prop_assert_eq!((report.blocks, report.threads), (blocks.into(), u64::from(blocks * threads)));
            prop_assert_eq!(report.global_loads, repeats * (elements + 2 * (elements - 1) + 1));
            prop_assert_eq!(report.global_stores, repeats * (elements + (elements - 1) + 1));
            passed += report.grid_barriers;
            prop_assert_eq!(barrier.to_vec()[0], (passed as u32) << 31);
        }
    }
}

/// In each round, values[i] ← the previous sum of the elements of the block `round` blocks later. It keeps state across
/// the barriers in registers, shared memory and warps.
#[kernel]
fn rotate_block_sums(values: GlobalMut<u32>, rounds: u32, barrier: GlobalMut<u32>) {
    let sums = shared_array![u32; 2];
    let (t, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    for round in 0..rounds {
        let from = (block + round as usize) % blocks;
        let sum = warp::reduce_add(values.get(from * threads + t));
        grid::sync(barrier);
        if t % 32 == 0 {
            sums.set(t / 32, sum);
        }
        grid::sync(barrier);
        values.set(block * threads + t, sums.get(0).wrapping_add(sums.get(1)));
        grid::sync(barrier);
    }
}

#[test]
fn registers_and_shared_memory_survive_the_barrier() {
    let (blocks, threads, rounds) = (7_usize, 64_usize, 5);
    let start: Vec<u32> = (0..blocks * threads).map(|i| (i * i) as u32).collect();
    for check_races in [true, false] {
        let mut values = SimulatorBuffer::from_slice(&start);
        let mut barrier = SimulatorBuffer::filled(0, 1);
        let options = Options { check_races, ..Options::default() };
        let config = LaunchConfig::new(blocks as u32, threads as u32).cooperative();
        simulator::launch_with(options, &rotate_block_sums, config, (&mut values, rounds, &mut barrier)).unwrap();
        let mut expected = start.clone();
        for round in 0..rounds as usize {
            let sums: Vec<u32> = expected
                .chunks(threads)
                .map(|block| block.iter().fold(0, |sum: u32, x| sum.wrapping_add(*x)))
                .collect();
            for (i, value) in expected.iter_mut().enumerate() {
                *value = sums[(i / threads + round) % blocks];
            }
        }
        assert_eq!(values.to_vec(), expected);
    }
}

/// Runs [`grid_sums`] on one element of value 1 per thread.
fn launch_ones(blocks: u32, threads: u32) -> Result<Vec<f32>, LaunchError> {
    let elements = (blocks * threads) as usize;
    let (x, mut values) = (SimulatorBuffer::filled(1.0, elements), SimulatorBuffer::uninitialized(elements));
    let (mut barrier, mut sums) = (SimulatorBuffer::filled(0, 1), SimulatorBuffer::uninitialized(2));
    let config = LaunchConfig::new(blocks, threads).cooperative();
    simulator::launch(&grid_sums, config, (&x, 2, &mut values, &mut barrier, &mut sums))?;
    Ok(sums.to_vec())
}

#[test]
fn the_maximum_number_of_blocks_is_exact() {
    for threads in [1, 64, 1024] {
        let max = max_cooperative_blocks(threads.into());
        assert!((1..=256).contains(&max));
        let sum = (max * threads) as f32;
        assert_eq!(launch_ones(max, threads).unwrap(), [sum, sum]);
        let error = launch_ones(max + 1, threads).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "a cooperative launch of {} blocks; of {threads} threads each, the simulator runs at most {max} at once",
                max + 1
            )
        );
    }
    assert_eq!(max_cooperative_blocks(1), 256);
}

#[test]
fn concurrent_launches_of_the_maximum_size_share_the_stacks() {
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let max = max_cooperative_blocks(512);
                let sum = (max * 512) as f32;
                assert_eq!(launch_ones(max, 512).unwrap(), [sum, sum]);
            });
        }
    });
}

#[test]
fn a_cooperative_launch_may_have_no_barrier() {
    let (x, mut out) = (SimulatorBuffer::filled(3.0, 100), SimulatorBuffer::uninitialized(100));
    let config = LaunchConfig::for_elements(100, 32).cooperative();
    let report = simulator::launch(&test_kernels::vector_max, config, (&x, &x, &mut out)).unwrap();
    assert_eq!(out.to_vec(), [3.0; 100]);
    assert_eq!((report.blocks, report.barriers, report.grid_barriers), (4, 0, 0));
}
