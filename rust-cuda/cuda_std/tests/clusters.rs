//! Thread block clusters in the simulator: exchanges through other blocks' shared memory, and each bug around them.

use cuda_std::simulator::{self, Access, Fault, FaultKind, LaunchError, Options, Place, SimulatorBuffer};
use cuda_std::{Dim3, F32x4, GlobalMut, Kernel, LaunchConfig, LimitError, cluster, dynamic_shared, kernel, thread};

/// Rotates the blocks' values `rounds` times through the cluster, written to the next block's memory, and then once
/// more, read from it.
#[kernel]
fn rotate(rounds: u32, out: GlobalMut<f32>) {
    let shared = dynamic_shared::<F32x4>();
    let t = thread::thread_idx_x() as usize;
    shared.set(t, F32x4::splat(thread::index_1d() as f32));
    cluster::sync();
    let next = (cluster::rank() + 1) % cluster::size();
    for _ in 0..rounds {
        let value = shared.get(t);
        cluster::sync();
        cluster::map_shared(&shared, next).set(t, value);
        cluster::sync();
    }
    let value = cluster::map_shared(&shared, next).get(t);
    cluster::sync();
    out.set(thread::index_1d() as usize, value.w);
}

fn config(grid: u32, threads: u32, cluster: u32) -> LaunchConfig {
    LaunchConfig::new(grid, threads).with_dynamic_shared(16 * threads).clusters_of(cluster)
}

#[test]
fn values_rotate_through_the_blocks_of_each_cluster() {
    for (clusters, size) in [(1, 16), (3, 8), (5, 3), (4, 1), (2, 2)] {
        for (threads, rounds) in [(1, 0), (33, 4), (64, 1)] {
            for check_races in [true, false] {
                let mut out = SimulatorBuffer::uninitialized((clusters * size * threads) as usize);
                let options = Options { check_races, ..Options::default() };
                let config = config(clusters * size, threads, size);
                simulator::launch_with(options, &rotate, config, (rounds, &mut out)).unwrap();
                let expected = (0..clusters * size * threads).map(|i| {
                    let (block, t) = (i / threads, i % threads);
                    // `rounds` blocks back, then one on.
                    let rank = (block % size + size * rounds + 1 - rounds) % size;
                    ((block / size * size + rank) * threads + t) as f32
                });
                let expected: Vec<f32> = expected.collect();
                assert_eq!(out.to_vec(), expected, "{clusters} × {size}, {threads} threads, {rounds} rounds");
            }
        }
    }
}

/// A kernel with the block's shared memory, the thread's index, the next block's rank and the output.
macro_rules! cluster_kernel {
    ($(#[$attribute:meta])* $name:ident, |$shared:ident, $t:ident, $next:ident, $out:ident| $body:block) => {
        $(#[$attribute])*
        #[kernel]
        fn $name(out: GlobalMut<f32>) {
            let $shared = dynamic_shared::<F32x4>();
            let $t = thread::thread_idx_x() as usize;
            let $next = (cluster::rank() + 1) % cluster::size();
            let $out = out;
            $body
        }
    };
}

cluster_kernel!(writes_too_early, |shared, t, next, _out| {
    cluster::map_shared(&shared, next).set(t, F32x4::splat(1.0));
    cluster::sync();
});

cluster_kernel!(reads_last, |shared, t, next, out| {
    shared.set(t, F32x4::splat(1.0));
    cluster::sync();
    out.set(thread::index_1d() as usize, cluster::map_shared(&shared, next).get(t).x);
});

cluster_kernel!(reads_without_barrier, |shared, t, next, out| {
    shared.set(t, F32x4::splat(1.0));
    cluster::sync();
    cluster::map_shared(&shared, next).set(t, F32x4::splat(2.0));
    out.set(thread::index_1d() as usize, shared.get(t).x);
    cluster::sync();
});

cluster_kernel!(all_write_to_the_first, |shared, t, _next, _out| {
    cluster::sync();
    cluster::map_shared(&shared, 0).set(t, F32x4::splat(2.0));
    cluster::sync();
});

cluster_kernel!(asks_for_one_too_many, |shared, _t, _next, _out| {
    cluster::sync();
    cluster::map_shared(&shared, cluster::size());
});

cluster_kernel!(writes_beyond, |shared, _t, next, _out| {
    cluster::sync();
    cluster::map_shared(&shared, next).set(shared.len(), F32x4::splat(2.0));
});

cluster_kernel!(last_block_returns, |_shared, _t, next, _out| {
    if next != 0 {
        cluster::sync();
    }
});

cluster_kernel!(two_barriers, |_shared, _t, next, _out| {
    if next != 0 {
        return cluster::sync();
    }
    cluster::sync();
});

cluster_kernel!(writes_global_memory, |_shared, _t, _next, out| {
    out.set(0, 1.0);
    cluster::sync();
});

cluster_kernel!(orders_global_memory, |_shared, t, next, out| {
    let block = thread::block_idx_x() as usize;
    out.set(4 * block + t, block as f32);
    cluster::sync();
    let first = block - cluster::rank() as usize;
    let value = out.get(4 * (first + next as usize) + t);
    cluster::sync();
    out.set(4 * block + t, value);
});

fn launch<K>(kernel: &K, blocks: u32) -> Result<Vec<f32>, Box<Fault>>
where
    K: for<'a> Kernel<Arguments<'a, simulator::SimulatorMemory> = (&'a mut SimulatorBuffer<f32>,)>,
{
    let mut out = SimulatorBuffer::uninitialized((4 * blocks) as usize);
    let options = simulator::Options { same_value_races_are_faults: true, ..Default::default() };
    match simulator::launch_with(options, kernel, config(blocks, 4, 4), (&mut out,)) {
        Ok(_) => Ok(out.to_vec()),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn memory_is_accessed_only_after_a_barrier() {
    let fault = launch(&writes_too_early, 4).unwrap_err();
    assert_eq!((fault.block, &fault.kind), (Dim3::default(), &FaultKind::BlockNotStarted { rank: 1 }));
    assert!(fault.to_string().ends_with(
        "block 1 of the cluster may not have started: no cluster::sync is before the access to its shared memory"
    ));
    // No block ends before the others' accesses, although the blocks run one after the other here.
    assert_eq!(launch(&reads_last, 4).unwrap(), [1.0; 16]);
}

#[test]
fn races_between_blocks_are_detected() {
    let fault = launch(&reads_without_barrier, 4).unwrap_err();
    let FaultKind::Race { place: Place::Shared, index: 0, access, other_block, .. } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((access, other_block), (Access::Read, Dim3::default()));
    assert_eq!(fault.block, Dim3::new(1, 0, 0));
    let fault = launch(&all_write_to_the_first, 4).unwrap_err();
    let FaultKind::Race { index: 0, access: Access::Write, other_access: Access::Write, .. } = fault.kind else {
        panic!("{fault}")
    };
    // A barrier of a cluster orders global memory too, within the cluster.
    let expected: Vec<f32> =
        [1.0, 2.0, 3.0, 0.0, 5.0, 6.0, 7.0, 4.0].into_iter().flat_map(|value| [value; 4]).collect();
    assert_eq!(launch(&orders_global_memory, 8).unwrap(), expected);
    let fault = launch(&writes_global_memory, 4).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Race { place: Place::Global("out"), .. }), "{fault}");
}

#[test]
fn other_mistakes_are_faults() {
    let fault = launch(&asks_for_one_too_many, 4).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoSuchBlock { rank: 4, blocks: 4 });
    let fault = launch(&writes_beyond, 4).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutOfBounds { place: Place::Shared, index: 4, length: 4 });
    let fault = launch(&last_block_returns, 4).unwrap_err();
    assert_eq!(fault.kind, FaultKind::ClusterDivergence { waiting: 3, exited: 1, other_location: None });
    let fault = launch(&two_barriers, 4).unwrap_err();
    let FaultKind::ClusterDivergence { waiting: 4, exited: 0, other_location: Some(_) } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!(fault.block, Dim3::new(3, 0, 0));
}

#[test]
fn the_grid_has_whole_clusters() {
    let check = |grid: (u32, u32), cluster| LaunchConfig::new(grid, 32).clusters_of(cluster).check();
    assert_eq!(check((32, 3), 16), Ok(()));
    for (grid, cluster) in [((6, 4), 4), ((34, 1), 17), ((4, 1), 0)] {
        assert!(matches!(check(grid, cluster), Err(LimitError::Cluster { .. })), "{grid:?} {cluster}");
    }
    let error = LaunchConfig::new(4, 32).clusters_of(2).cooperative().check();
    assert_eq!(error, Err(LimitError::CooperativeClusters));
}
