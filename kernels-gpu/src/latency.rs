//! Kernels that measure latencies: of a launch, of barriers, and of the shared memory of a cluster.

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
use cuda_std::{F32x4, cluster, dynamic_shared};
use cuda_std::{GlobalMut, grid, kernel, thread};

/// Blocks of a cluster in these kernels' launches.
pub const CLUSTER: u32 = 16;

/// Nothing. Its launches take the latency of a launch.
#[kernel]
pub fn empty_kernel() {}

/// Waits `rounds` times at the block's barrier.
#[kernel]
pub fn block_barriers(rounds: u32) {
    for _ in 0..rounds {
        thread::sync_threads();
    }
}

/// Waits `rounds` times at the grid barrier, in a cooperative launch.
#[kernel]
pub fn grid_barriers(rounds: u32, barrier: GlobalMut<u32>) {
    for _ in 0..rounds {
        grid::sync(barrier);
    }
}

/// Waits `rounds` times at the cluster's barrier.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
#[kernel]
pub fn cluster_barriers(rounds: u32) {
    for _ in 0..rounds {
        cluster::sync();
    }
}

/// One thread of each block follows `rounds` indices, each loaded from the shared memory of the block that is `distance`
/// after its own in the cluster, at the index that was loaded before: the latency of a load. With distance 0 these are loads
/// from its own shared memory. Each block's last index goes to `out`.
///
/// Needs 16 bytes of dynamic shared memory per thread.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
#[kernel]
pub fn cluster_loads(distance: u32, rounds: u32, out: GlobalMut<u32>) {
    let shared = dynamic_shared::<F32x4>();
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    // Element t refers to the next one, the last one to the first.
    let next = if t + 1 == threads { 0 } else { t + 1 };
    shared.set(t as usize, F32x4::splat(f32::from_bits(next)));
    cluster::sync();
    let of_block = cluster::map_shared(&shared, (cluster::rank() + distance) % cluster::size());
    if t == 0 {
        let mut i = 0;
        for _ in 0..rounds {
            i = match distance {
                0 => shared.get(i as usize).x.to_bits(),
                _ => of_block.get(i as usize).x.to_bits(),
            };
        }
        out.set(thread::block_idx_x() as usize, i);
    }
}

/// Passes each thread's value `rounds` times to the next block of the cluster: a store to its shared memory, the cluster's
/// barrier, and a load from the block's own. `out` gets the values.
///
/// Needs 32 bytes of dynamic shared memory per thread.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
#[kernel]
pub fn cluster_exchanges(rounds: u32, out: GlobalMut<f32>) {
    let shared = dynamic_shared::<F32x4>();
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let of_next = cluster::map_shared(&shared, (cluster::rank() + 1) % cluster::size());
    let mut value = F32x4::splat(thread::index_1d() as f32);
    cluster::sync();
    for round in 0..rounds {
        // Two halves by turns: a block may write one while the next block still reads the other.
        let place = (round % 2 * threads + t) as usize;
        of_next.set(place, value);
        cluster::sync();
        value = shared.get(place);
    }
    out.set(thread::index_1d() as usize, value.x);
}
