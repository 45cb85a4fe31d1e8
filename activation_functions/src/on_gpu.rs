use cuda_std::F32x4;
use gpu::{Buffer, Device, Error, LaunchConfig, PinnedBuffer};
use kernels_gpu::greyscale;
use rayon::prelude::*;

use crate::{LengthMismatch, Step};

/// Threads of a block; each thread takes four numbers.
const THREADS: u32 = 256;
/// The most fours of numbers: the kernels count them in 32 bits.
const MAX_QUADS: usize = u32::MAX as usize;
/// Fours that one task copies to or from page-locked memory.
const QUADS_PER_TASK: usize = 16 * 1024;

/// How the three steps run on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A launch for each step; what lies between them stays on the GPU.
    ThreeLaunches,
    /// One launch; what lies between the steps stays in registers.
    Fused,
    /// The same with the GPU's approximation of tanh.
    FusedFast,
}

/// Why there is no result from the GPU.
#[derive(Debug, thiserror::Error)]
pub enum ActivationGpuError {
    /// There are not as many weights as values.
    #[error(transparent)]
    Length(#[from] LengthMismatch),
    /// The buffers are for another number of values.
    #[error("{given} values for buffers of {length}: make new buffers, or give as many values")]
    OtherLength {
        /// How many values the buffers hold.
        length: usize,
        /// How many values were given.
        given: usize,
    },
    /// The kernels count fours of numbers in 32 bits.
    #[error("{length} values on the GPU: it takes at most {}; share them out", 4 * MAX_QUADS)]
    TooMany {
        /// How many values there were to be.
        length: usize,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Error),
}

/// All three steps in one launch on a device: tanh(x / 255 · w), within [`TOLERANCE`](crate::TOLERANCE).
///
/// # Errors
/// If there are not as many weights as values, there are 2³⁴ or more, or the device fails.
///
/// ```
/// let device = gpu::Device::simulator();
/// let activated = activation_functions::fused_gpu(&device, &[0.0, 255.0], &[0.5, 0.5])?;
/// assert!(activated[0] == 0.0 && (activated[1] - 0.462_117_2).abs() < 1e-6);
/// # Ok::<(), activation_functions::ActivationGpuError>(())
/// ```
pub fn fused_gpu(device: &Device, values: &[f32], weights: &[f32]) -> Result<Vec<f32>, ActivationGpuError> {
    let mut work = ActivationGpu::new(device, values.len())?;
    work.upload(values, weights)?;
    work.launch(Version::Fused)?;
    Ok(work.result(Step::Activate)?)
}

/// The values, their weights and every step's result in a device's memory, made once and used again and again: what one
/// step writes the next one reads there.
#[derive(Debug)]
pub struct ActivationGpu<'a> {
    device: &'a Device,
    length: usize,
    values: Buffer<F32x4>,
    weights: Buffer<F32x4>,
    normalized: Buffer<F32x4>,
    weighed: Buffer<F32x4>,
    activated: Buffer<F32x4>,
    /// Where the host's numbers become fours, and the copies' page-locked end.
    staging: PinnedBuffer<F32x4>,
}

impl<'a> ActivationGpu<'a> {
    /// Makes buffers for `length` values, which hold nothing yet.
    ///
    /// # Errors
    /// If they are 2³⁴ or more, or the device has not enough memory.
    pub fn new(device: &'a Device, length: usize) -> Result<Self, ActivationGpuError> {
        let quads = length.div_ceil(4);
        if quads > MAX_QUADS {
            return Err(ActivationGpuError::TooMany { length });
        }
        Ok(Self {
            device,
            length,
            values: device.uninitialized(quads)?,
            weights: device.uninitialized(quads)?,
            normalized: device.uninitialized(quads)?,
            weighed: device.uninitialized(quads)?,
            activated: device.uninitialized(quads)?,
            staging: device.pinned(quads)?,
        })
    }

    /// Copies values and weights to the device.
    ///
    /// # Errors
    /// If there are not as many weights as values, or not as many values as the buffers are for, or the device fails.
    pub fn upload(&mut self, values: &[f32], weights: &[f32]) -> Result<(), ActivationGpuError> {
        LengthMismatch::check(values, weights)?;
        if values.len() != self.length {
            return Err(ActivationGpuError::OtherLength { length: self.length, given: values.len() });
        }
        for (numbers, buffer) in [(values, &mut self.values), (weights, &mut self.weights)] {
            to_quads(numbers, &mut self.staging);
            buffer.copy_from(&self.staging)?;
        }
        Ok(())
    }

    /// Launches all three steps; on a GPU they may still run when this returns.
    ///
    /// # Errors
    /// If the device fails; the simulator also if nothing was uploaded.
    pub fn launch(&mut self, version: Version) -> Result<(), Error> {
        let Some(config) = self.config() else { return Ok(()) };
        let arguments = (&self.values, &self.weights, &mut self.activated);
        match version {
            Version::ThreeLaunches => return Step::ALL.into_iter().try_for_each(|step| self.launch_step(step)),
            Version::Fused => self.device.launch(&greyscale::normalize_weigh_activate_kernel, config, arguments)?,
            Version::FusedFast => {
                self.device.launch(&greyscale::normalize_weigh_activate_fast_kernel, config, arguments)?
            }
        };
        Ok(())
    }

    /// Launches one step; on a GPU it may still run when this returns.
    ///
    /// # Errors
    /// If the device fails; the simulator also if the step before was not launched.
    pub fn launch_step(&mut self, step: Step) -> Result<(), Error> {
        let Some(config) = self.config() else { return Ok(()) };
        let Self { device, values, weights, normalized, weighed, activated, .. } = self;
        match step {
            Step::Normalize => device.launch(&greyscale::normalize_kernel, config, (values, normalized))?,
            Step::Weigh => device.launch(&greyscale::weigh_kernel, config, (normalized, weights, weighed))?,
            Step::Activate => device.launch(&greyscale::activate_kernel, config, (weighed, activated))?,
        };
        Ok(())
    }

    /// Copies a step's result to the host and back again: what not to do between two steps.
    ///
    /// # Errors
    /// If the device or a kernel failed.
    pub fn copy_to_host_and_back(&mut self, step: Step) -> Result<(), Error> {
        let buffer = match step {
            Step::Normalize => &mut self.normalized,
            Step::Weigh => &mut self.weighed,
            Step::Activate => &mut self.activated,
        };
        buffer.copy_to(&mut self.staging)?;
        buffer.copy_from(&self.staging)
    }

    /// Copies a step's result to the host.
    ///
    /// # Errors
    /// If the device or a kernel failed.
    pub fn result(&mut self, step: Step) -> Result<Vec<f32>, Error> {
        let buffer = match step {
            Step::Normalize => &self.normalized,
            Step::Weigh => &self.weighed,
            Step::Activate => &self.activated,
        };
        buffer.copy_to(&mut self.staging)?;
        Ok(from_quads(&self.staging, self.length))
    }

    /// None where there is nothing to launch.
    fn config(&self) -> Option<LaunchConfig> {
        (self.length > 0).then(|| LaunchConfig::for_elements(self.values.len(), THREADS))
    }
}

/// Writes `numbers` to `quads`, four by four, filled up with zeros.
fn to_quads(numbers: &[f32], quads: &mut [F32x4]) {
    quads.par_chunks_mut(QUADS_PER_TASK).zip(numbers.par_chunks(4 * QUADS_PER_TASK)).for_each(|(quads, numbers)| {
        let (whole, rest) = numbers.as_chunks::<4>();
        for (quad, numbers) in quads.iter_mut().zip(whole) {
            *quad = F32x4::from(*numbers);
        }
        if !rest.is_empty() {
            let mut last = [0.0; 4];
            last[..rest.len()].copy_from_slice(rest);
            quads[whole.len()] = F32x4::from(last);
        }
    });
}

/// The first `length` numbers of `quads`.
fn from_quads(quads: &[F32x4], length: usize) -> Vec<f32> {
    let mut numbers = vec![0.0; length];
    numbers.par_chunks_mut(4 * QUADS_PER_TASK).zip(quads.par_chunks(QUADS_PER_TASK)).for_each(|(numbers, quads)| {
        for (numbers, quad) in numbers.chunks_mut(4).zip(quads) {
            numbers.copy_from_slice(&quad.to_array()[..numbers.len()]);
        }
    });
    numbers
}
