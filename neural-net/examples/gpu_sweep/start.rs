//! Times a process's start until its first kernel has run, by the host's clock. Each part is timed
//! once: a repeat would be faster.

use std::time::Instant;

use anyhow::Result;
use gpu::{Device, LaunchConfig};
use kernels_gpu::latency::empty_kernel;
use kernels_gpu::network::persistent::cluster::{self, network_train_cluster};

use super::Sweep;

/// The times at which the driver and the GPU's context started.
pub(super) struct Prepared {
    seconds: f64,
    /// When the start was complete.
    end: Instant,
}

/// Starts the driver and the GPU's context.
pub(super) fn prepared() -> Prepared {
    let start = Instant::now();
    Device::prepare(0);
    let end = Instant::now();
    Prepared { seconds: (end - start).as_secs_f64(), end }
}

impl Sweep {
    /// Times the parts of the start. The device has just been opened.
    pub(super) fn start(&mut self, prepared: Prepared) -> Result<()> {
        let mut last = prepared.end;
        let mut since_last = || {
            let now = Instant::now();
            (now - std::mem::replace(&mut last, now)).as_secs_f64()
        };
        let opened = since_last();
        let launch = || -> Result<()> {
            self.device.launch(&empty_kernel, LaunchConfig::new(1, 32), ())?;
            Ok(self.device.synchronize()?)
        };
        launch()?;
        let first = since_last();
        launch()?;
        let second = since_last();
        // The driver must load the kernel to determine how many clusters fit.
        let config = LaunchConfig::new(cluster::BLOCKS, cluster::THREADS).with_dynamic_shared(cluster::SHARED_BYTES);
        self.device.max_clusters(&network_train_cluster, config.clusters_of(cluster::BLOCKS))?;
        let loaded = since_last();
        let parts = [
            ("driver and context", prepared.seconds),
            ("open the device and load a kernel", opened),
            ("first launch", first),
            ("second launch", second),
            ("load network_train_cluster", loaded),
        ];
        for (label, seconds) in parts {
            self.time(label, self.device.is_gpu().then(|| vec![seconds]), 1);
        }
        Ok(())
    }
}
