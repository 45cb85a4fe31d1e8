//! Kernels that measure latencies, of a launch, of barriers, and of the shared memory of a cluster, and rates of arithmetic.

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
use cuda_std::matrix::{A, B, Bf16, Factor, Sums, Tf32};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
use cuda_std::mbarrier::Mbarriers;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
use cuda_std::{F32x4, cluster, dynamic_shared, shared_array};
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

/// Quads that a block sends to each block of its cluster in a round of [`cluster_exchanges`].
pub const EXCHANGED: u32 = 16;

/// All blocks of a cluster exchange values `rounds` times, as those of a training step do: by asynchronous stores each block sends
/// [`EXCHANGED`] quads to each, waits for its own, reads them, and waits at the block's barrier. `out` gets each thread's value: thread
/// j · `EXCHANGED` + i of block b passes its number to thread b · `EXCHANGED` + i of block j, and back in the next round.
///
/// Its blocks have `BLOCKS` · `EXCHANGED` threads, and 32 bytes of dynamic shared memory for each.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
#[kernel(2, 4, 8, 16)]
pub fn cluster_exchanges<const BLOCKS: u32>(rounds: u32, out: GlobalMut<f32>) {
    let shared = dynamic_shared::<F32x4>();
    // Two halves and mbarriers by turns: a block may send while another still reads what came before.
    let arrivals = Mbarriers::new(shared_array![u64; 2]);
    let (t, threads) = (thread::thread_idx_x(), BLOCKS * EXCHANGED);
    if t == 0 {
        for turn in 0..2 {
            arrivals.init(turn, 1);
            arrivals.arrive_expecting(turn, 16 * threads);
        }
    }
    // All blocks have started, and initialised their mbarriers, before one sends to another.
    cluster::sync();
    let receiver = cluster::map_shared(&shared, t / EXCHANGED % BLOCKS);
    let place = cluster::rank() * EXCHANGED + t % EXCHANGED;
    let mut value = F32x4::splat(thread::index_1d() as f32);
    for round in 0..rounds {
        let turn = round % 2;
        receiver.set_async((turn * threads + place) as usize, value, &arrivals, turn as usize);
        arrivals.wait(turn as usize, round / 2 % 2);
        if t == 0 {
            arrivals.arrive_expecting(turn as usize, 16 * threads);
        }
        value = shared.get((turn * threads + t) as usize);
        // All of the block have read before one sends again: what it sends tells the receiver that this half is free.
        thread::sync_threads();
    }
    out.set(thread::index_1d() as usize, value.x);
}

/// Sums of a thread or a warp in the kernels that measure rates: they do not wait for each other.
pub const SUMS: u32 = 4;

/// Each warp adds the product of two matrices of ones `rounds` times to each of [`SUMS`] sums. `out` gets the total of each thread's first
/// elements: `SUMS` · `rounds` · `DEPTH`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
#[inline(always)]
fn add_products<T: Factor>(rounds: u32, out: GlobalMut<f32>) {
    let (a, b) = (A::<T>::new(|_, _| T::from_f32(1.0)), B::<T>::new(|_, _| T::from_f32(1.0)));
    let mut sums = [Sums::zero(); SUMS as usize];
    for _ in 0..rounds {
        sums = sums.map(|sum| sum.plus_product(&a, &b));
    }
    out.set(thread::index_1d() as usize, sums.iter().map(|sum| sum.registers()[0]).sum());
}

/// Products of tensor cores of tf32, 16 × 8 · 8 × 8.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
#[kernel]
pub fn tensor_rate_tf32(rounds: u32, out: GlobalMut<f32>) {
    add_products::<Tf32>(rounds, out);
}

/// Products of tensor cores of bf16, 16 × 16 · 16 × 8.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
#[kernel]
pub fn tensor_rate_bf16(rounds: u32, out: GlobalMut<f32>) {
    add_products::<Bf16>(rounds, out);
}

/// Each thread multiplies each of [`SUMS`] sums by `factor` and adds one, `rounds` times. `out` gets their total: with a factor of one
/// `SUMS` · `rounds`.
#[kernel]
pub fn multiply_add_rate_f64(rounds: u32, factor: f64, out: GlobalMut<f64>) {
    let mut sums = [0.0; SUMS as usize];
    for _ in 0..rounds {
        sums = sums.map(|sum: f64| sum.mul_add(factor, 1.0));
    }
    out.set(thread::index_1d() as usize, sums.iter().sum());
}
