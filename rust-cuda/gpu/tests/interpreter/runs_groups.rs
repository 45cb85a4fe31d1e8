//! Groups of lanes and blocks: tiles, masks, reductions and scans.

use crate::interpreters::same_everywhere;
use cuda_std::simulator::{self, FaultKind, SimulatorBuffer};
use cuda_std::{Dim3, GlobalMut, Kernel, LaunchConfig, kernel, thread, warp};
use gpu::Device;
use test_kernels::groups::{OF_BLOCK, OF_TILE, appends_odd, blocks, sums_equal_keys, tiles};

/// Tests tiles of `size` lanes with the kernel that `launch` launches.
fn tests_tiles(size: usize, kernel: &impl Kernel, launch: impl Fn(&Device, &[f32]) -> Vec<f32>) {
    let x: Vec<f32> = (0..64).map(|i| ((i * 37 + 11) % 64) as f32).collect();
    let results = same_everywhere(kernel, |device| launch(device, &x));
    for (index, tile) in x.chunks(size).enumerate() {
        let tile: Vec<f32> = tile.iter().map(|x| x + 100.0 * (index % 2) as f32).collect();
        let first = index * size;
        let odd = (0..size).filter(|&rank| tile[rank] as u32 % 2 == 1);
        let votes = odd.fold(0_u32, |votes, rank| votes | 1 << ((first + rank) % 32));
        for (rank, &value) in tile.iter().enumerate() {
            let below: f32 = tile[..rank].iter().sum();
            let expected = [
                tile.iter().sum(),
                tile.iter().copied().fold(0.0, f32::max),
                tile.iter().copied().fold(1e9, f32::min),
                below + value,
                if rank == 0 { 0.5 } else { below },
                *tile.get(rank + 2).unwrap_or(&value),
                votes as f32,
                tile[size - 1 - rank],
            ];
            let thread = first + rank;
            assert_eq!(results[OF_TILE * thread..][..OF_TILE], expected, "lane {rank} of tile {index} of {size}");
        }
    }
}

#[test]
fn tiles_of_all_sizes() {
    macro_rules! sizes {
        ($($size:literal)*) => {$(
            tests_tiles($size, &tiles::<$size>, |device, x| {
                let (x, mut out) = (device.buffer_from_slice(x).unwrap(), device.uninitialized(OF_TILE * 64).unwrap());
                device.launch(&tiles::<$size>, LaunchConfig::new(1, 64), (&x, &mut out)).unwrap();
                out.to_vec().unwrap()
            });
        )*};
    }
    sizes!(1 2 4 8 16 32);
}

#[test]
fn lanes_of_a_mask() {
    let keys: Vec<u64> = (0..75).map(|i| [3 << 32, 3, 4, 1 << 63, 3 << 32 | 4][i * i % 5]).collect();
    let values: Vec<i64> = (0..75).map(|i| (i - 30) << 33).collect();
    let (sums, ranks) = same_everywhere(&sums_equal_keys, |device| {
        let (keys, values) = (device.buffer_from_slice(&keys).unwrap(), device.buffer_from_slice(&values).unwrap());
        let (mut sums, mut ranks) = (device.uninitialized(75).unwrap(), device.uninitialized(75).unwrap());
        let config = LaunchConfig::for_elements(75, 96);
        device.launch(&sums_equal_keys, config, (&keys, &values, &mut sums, &mut ranks)).unwrap();
        (sums.to_vec().unwrap(), ranks.to_vec().unwrap())
    });
    for i in 0..75 {
        let warp = i / 32 * 32..(i / 32 * 32 + 32).min(75);
        let equal = |j: &usize| keys[*j] == keys[i];
        assert_eq!(sums[i], warp.clone().filter(equal).map(|j| values[j]).sum::<i64>());
        assert_eq!(ranks[i] as usize, (warp.start..i).filter(equal).count());
    }
}

#[test]
fn active_lanes_append_together() {
    let x: Vec<u32> = (0..300).map(|i| i * i / 3).collect();
    let mut odd: Vec<u32> = x.iter().copied().filter(|x| x % 2 == 1).collect();
    odd.sort_unstable();
    let (count, result) = same_everywhere(&appends_odd, |device| {
        let x = device.buffer_from_slice(&x).unwrap();
        let (mut count, mut out) = (device.zeroed(1).unwrap(), device.zeroed::<u32>(odd.len()).unwrap());
        let config = LaunchConfig::for_elements(300, 128);
        device.launch(&appends_odd, config, (&x, &mut count, &mut out)).unwrap();
        let mut out = out.to_vec().unwrap();
        out.sort_unstable();
        (count.to_vec().unwrap(), out)
    });
    assert_eq!((count, result), (vec![odd.len() as u32], odd));
}

#[test]
fn reductions_and_scans_of_blocks() {
    for dim in [Dim3 { x: 1, y: 1, z: 1 }, Dim3 { x: 7, y: 5, z: 2 }, Dim3 { x: 96, y: 1, z: 1 }] {
        let threads = dim.count() as usize;
        let x: Vec<u32> = (0..2 * threads as u32).map(|i| (i + 1).wrapping_mul(0x9e37_79b9)).collect();
        let results = same_everywhere(&blocks, |device| {
            let (x, mut out) =
                (device.buffer_from_slice(&x).unwrap(), device.uninitialized(OF_BLOCK * 2 * threads).unwrap());
            device.launch(&blocks, LaunchConfig::new(2, dim), (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let sum = |x: &[u32]| x.iter().fold(0, |sum: u32, x| sum.wrapping_add(*x));
        for (i, result) in results.chunks(OF_BLOCK).enumerate() {
            let (block, place) = (&x[i / threads * threads..][..threads], i % threads);
            let exclusive = if place == 0 { 7 } else { sum(&block[..place]) };
            let (max, min) = (block.iter().max().unwrap(), block.iter().min().unwrap());
            let expected = [sum(block), *max, *min, sum(&block[..=place]), exclusive];
            assert_eq!(result, expected, "thread {i} of {dim:?}");
        }
    }
}

/// Makes one of three mistakes, selected by `way`.
#[kernel]
fn wrong_groups(way: u32, out: GlobalMut<u32>) {
    let lane = warp::lane_id();
    let group = match way {
        // The upper lanes never arrive.
        0 if lane < 4 => warp::tile(8),
        // Lanes disagree about the group: two name only the first two lanes, the others all lanes.
        1 if lane < 2 => warp::lanes(0b11),
        1 => warp::lanes(u32::MAX),
        // The thread's lane is not in its group.
        2 => warp::lanes(1),
        _ => return,
    };
    out[thread::thread_idx_x() as usize] = group.ballot(true);
    warp::sync_warp();
}

#[test]
fn missing_lanes_of_a_group_are_named() {
    for (way, expected, missing) in [(1, u32::MAX, !0b11), (2, 1, 1)] {
        let mut out = SimulatorBuffer::filled(0, 32);
        let error = simulator::launch(&wrong_groups, LaunchConfig::new(1, 32), (way, &mut out)).unwrap_err();
        let fault = error.fault().unwrap();
        assert_eq!(fault.kind, FaultKind::MissingLanes { expected, missing }, "{fault}");
    }
    // Lanes that have exited do not count as missing.
    let mut out = SimulatorBuffer::filled(0, 32);
    simulator::launch(&wrong_groups, LaunchConfig::new(1, 32), (0, &mut out)).unwrap();
    assert_eq!(out.to_vec()[..5], [15, 15, 15, 15, 0]);
}
