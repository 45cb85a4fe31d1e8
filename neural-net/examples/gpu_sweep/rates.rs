//! Measures a multiprocessor's arithmetic rate and the GPU's memory rate.

use std::cell::RefCell;

use anyhow::Result;
use gpu::{Device, F32x4, LaunchConfig};
use kernels_gpu::greyscale::weigh_kernel;
use kernels_gpu::latency::{SUMS, multiply_add_rate_f64, tensor_rate_bf16, tensor_rate_tf32};

use super::Sweep;

/// Threads of the computing block: four warps for each of a multiprocessor's schedulers.
const THREADS: u32 = 512;
const WARPS: u32 = THREADS / 32;
/// Elements of each array for the kernel that reads two and writes one: 256 MiB, several times an
/// L2 cache.
const VALUES: usize = 1 << 26;
const UNTIMED_VALUES: usize = 1 << 10;

impl Sweep {
    pub(super) fn rates(&mut self) -> Result<()> {
        let config = LaunchConfig::new(1, THREADS);
        if self.device.has(&tensor_rate_tf32) {
            let out = RefCell::new(self.device.uninitialized::<f32>(THREADS as usize)?);
            self.rounds("product of tf32, 16×8 by 8×8", WARPS * SUMS, |device, rounds| {
                device.launch(&tensor_rate_tf32, config, (rounds, &mut *out.borrow_mut())).map(drop)
            })?;
            self.rounds("product of bf16, 16×16 by 16×8", WARPS * SUMS, |device, rounds| {
                device.launch(&tensor_rate_bf16, config, (rounds, &mut *out.borrow_mut())).map(drop)
            })?;
        }
        let out = RefCell::new(self.device.uninitialized::<f64>(THREADS as usize)?);
        self.rounds("multiply-add of f64", THREADS * SUMS, |device: &Device, rounds| {
            device.launch(&multiply_add_rate_f64, config, (rounds, 1.0, &mut *out.borrow_mut())).map(drop)
        })?;
        self.memory()
    }

    /// Measures the time per byte of GPU memory with a kernel that reads two arrays and writes one.
    fn memory(&mut self) -> Result<()> {
        let values = if self.device.is_gpu() { VALUES } else { UNTIMED_VALUES };
        let quads = values / 4;
        let (x, w) = (self.device.zeroed::<F32x4>(quads)?, self.device.zeroed::<F32x4>(quads)?);
        let mut out = self.device.uninitialized::<F32x4>(quads)?;
        let config = LaunchConfig::for_elements(quads, 256);
        let seconds = self
            .device
            .time_repeats(self.repeats, |_| self.device.launch(&weigh_kernel, config, (&x, &w, &mut out)).map(drop))?;
        self.time("byte of memory", seconds, u32::try_from(12 * values)?);
        Ok(())
    }
}
