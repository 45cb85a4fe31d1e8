//! Latencies of launches, barriers and a cluster's shared memory.

use std::cell::RefCell;

use anyhow::Result;
use gpu::{Device, LaunchConfig};
use kernels_gpu::latency::{
    CLUSTER, EXCHANGED, block_barriers, cluster_barriers, cluster_exchanges, cluster_loads, empty_kernel, grid_barriers,
};

use super::training::BLOCKS;
use super::{Sweep, beyond};

/// Threads of a block in the launches with barriers, as many as in the persistent kernel.
const THREADS: u32 = 256;
/// Number of empty launches between two events, or in one graph.
const LAUNCHES: u32 = 200;
/// Number of replays of that graph between two events.
const REPLAYS: u32 = 20;

impl Sweep {
    pub(super) fn latency(&mut self) -> Result<()> {
        let empty = || self.device.launch(&empty_kernel, LaunchConfig::new(1, 32), ()).map(drop);
        let alone = self.device.time_repeats(self.repeats, |_| empty())?;
        let in_a_row = self.device.time_repeats(self.repeats, |_| (0..LAUNCHES).try_for_each(|_| empty()))?;
        // The graph's capture and upload are part of both times and cancel out.
        let replayed = |times: u32| {
            self.device.time_repeats(self.repeats, |_| {
                self.device.replay(times as usize, |recorder| {
                    (0..LAUNCHES).try_for_each(|_| recorder.launch(&empty_kernel, LaunchConfig::new(1, 32), ()))
                })
            })
        };
        let (many, once) = (replayed(REPLAYS + 1)?, replayed(1)?);
        self.time("empty launch", alone, 1);
        self.time("empty launch of many", in_a_row, LAUNCHES);
        self.time("empty launch in a graph", beyond(many, once), REPLAYS * LAUNCHES);

        let of_block = LaunchConfig::new(1, THREADS);
        let barrier = |device: &Device, rounds| device.launch(&block_barriers, of_block, (rounds,)).map(drop);
        self.rounds("block barrier", 1, barrier)?;
        let barrier = RefCell::new(self.device.zeroed::<u32>(1)?);
        let resident = self.device.max_cooperative_blocks(&grid_barriers, THREADS, 0)?;
        for blocks in BLOCKS.into_iter().filter(|&blocks| blocks <= resident) {
            let config = LaunchConfig::new(blocks, THREADS).cooperative();
            self.rounds(&format!("grid barrier, {blocks} blocks"), 1, |device, rounds| {
                device.launch(&grid_barriers, config, (rounds, &mut *barrier.borrow_mut())).map(drop)
            })?;
        }
        self.cluster()?;
        self.exchanges()
    }

    /// Latencies within a cluster of 16 blocks, if the device supports such clusters.
    fn cluster(&mut self) -> Result<()> {
        let config = LaunchConfig::new(CLUSTER, THREADS).clusters_of(CLUSTER);
        if self.device.max_clusters(&cluster_barriers, config)? == 0 {
            self.report.remark("clusters", &no_clusters_of(CLUSTER));
            return Ok(());
        }
        let label = |what: &str| format!("{what}, {CLUSTER} blocks");
        let barrier = |device: &Device, rounds| device.launch(&cluster_barriers, config, (rounds,)).map(drop);
        self.rounds(&label("cluster barrier"), 1, barrier)?;
        let last = RefCell::new(self.device.uninitialized::<u32>(CLUSTER as usize)?);
        let of_loads = config.with_dynamic_shared(16 * THREADS);
        for (distance, what) in [(0, "load from a block's own shared memory"), (1, "load from another block's")] {
            self.rounds(&label(what), 1, |device, rounds| {
                device.launch(&cluster_loads, of_loads, (distance, rounds, &mut *last.borrow_mut())).map(drop)
            })?;
        }
        Ok(())
    }

    /// Times exchanges between all blocks of a cluster, by cluster size.
    fn exchanges(&mut self) -> Result<()> {
        macro_rules! exchanges {
            ($($blocks:literal)*) => {$({
                let threads = $blocks * EXCHANGED;
                let config = LaunchConfig::new($blocks, threads).clusters_of($blocks).with_dynamic_shared(32 * threads);
                if self.device.max_clusters(&cluster_exchanges::<$blocks>, config)? == 0 {
                    self.report.remark(concat!("clusters of ", $blocks), &no_clusters_of($blocks));
                } else {
                    let values = RefCell::new(self.device.uninitialized::<f32>((threads * $blocks) as usize)?);
                    self.rounds(&exchange_label($blocks), 1, |device, rounds| {
                        let arguments = (rounds, &mut *values.borrow_mut());
                        device.launch(&cluster_exchanges::<$blocks>, config, arguments).map(drop)
                    })?;
                }
            })*};
        }
        exchanges!(2 4 8 16);
        Ok(())
    }
}

fn no_clusters_of(blocks: u32) -> String {
    format!("the device has no clusters of {blocks} blocks")
}

/// The label for the time of an exchange.
fn exchange_label(blocks: u32) -> String {
    format!("exchange of 256 bytes with each, {blocks} blocks")
}
