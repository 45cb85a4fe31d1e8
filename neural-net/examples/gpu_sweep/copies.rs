//! Times the five parts of a computation with copies, by the host's clock.

use std::time::Instant;

use anyhow::Result;
use gpu::{Device, LaunchConfig};
use kernels_gpu::maximum::max_kernel;
use timing::Measurement;

use super::Sweep;

/// Elements of a matrix: 1000 × 1000 integers of 4 bytes.
const ELEMENTS: usize = 1_000_000;
const UNTIMED_ELEMENTS: usize = 1000;
/// The timed parts of the maximum of two matrices.
const PARTS: [&str; 5] =
    ["allocate three of 4 MB", "upload two of 4 MB", "launch and wait", "download one of 4 MB", "free three of 4 MB"];

impl Sweep {
    /// Times the maximum of two matrices from host memory to host memory, allocated as a program
    /// does. Then times copies of the same size from and to page-locked memory, which are limited
    /// by the link.
    pub(super) fn copies(&mut self) -> Result<()> {
        let elements = if self.device.is_gpu() { ELEMENTS } else { UNTIMED_ELEMENTS };
        let (a, b) = (vec![1; elements], vec![2; elements]);
        let mut seconds = PARTS.map(|_| Vec::new());
        // The first one is a warm-up.
        for _ in 0..=self.repeats.get() {
            for (all, one) in seconds.iter_mut().zip(parts(&self.device, &a, &b)?) {
                all.push(one);
            }
        }
        let mut locked = self.device.pinned::<i32>(elements)?;
        let mut buffer = self.device.uninitialized::<i32>(elements)?;
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for _ in 0..=self.repeats.get() {
            up.push(timed(|| buffer.copy_from(&locked).and_then(|()| self.device.synchronize()))?);
            down.push(timed(|| buffer.copy_to(&mut locked))?);
        }
        let labels =
            PARTS.into_iter().chain(["upload 4 MB of page-locked memory", "download 4 MB to page-locked memory"]);
        for (label, seconds) in labels.zip(seconds.into_iter().chain([up, down])) {
            if let Some(measurement) = Measurement::of(seconds[1..].to_vec()).filter(|_| self.device.is_gpu()) {
                self.report.time(label, "", measurement);
            }
        }
        Ok(())
    }
}

/// The seconds of each part.
fn parts(device: &Device, a: &[i32], b: &[i32]) -> Result<[f64; 5]> {
    let allocate = || device.uninitialized::<i32>(a.len());
    let start = Instant::now();
    let (mut on_a, mut on_b, mut out) = (allocate()?, allocate()?, allocate()?);
    let allocated = start.elapsed();
    on_a.copy_from(a)?;
    on_b.copy_from(b)?;
    device.synchronize()?;
    let uploaded = start.elapsed();
    device.launch(&max_kernel, LaunchConfig::new(1000, 1000), (&on_a, &on_b, &mut out))?;
    device.synchronize()?;
    let launched = start.elapsed();
    let result = out.to_vec()?;
    let downloaded = start.elapsed();
    drop((on_a, on_b, out));
    let freed = start.elapsed();
    anyhow::ensure!(result.iter().all(|&value| value == 2), "the maximum is wrong");
    let ends = [allocated, uploaded, launched, downloaded, freed].map(|end| end.as_secs_f64());
    Ok([ends[0], ends[1] - ends[0], ends[2] - ends[1], ends[3] - ends[2], ends[4] - ends[3]])
}

fn timed(work: impl FnOnce() -> Result<(), gpu::Error>) -> Result<f64, gpu::Error> {
    let start = Instant::now();
    work().map(|()| start.elapsed().as_secs_f64())
}
