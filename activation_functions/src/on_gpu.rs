use cuda_std::F32x4;
use gpu::{Buffer, Device, Error, LaunchConfig, PinnedBuffer};
use kernels_gpu::greyscale;
use rayon::prelude::*;

use crate::{LengthMismatch, Step};

/// Number of threads per block. Each thread handles one quad of four values.
const THREADS: u32 = 256;
/// Maximum number of quads: the kernels' indices have 32 bits.
const MAX_QUADS: usize = u32::MAX as usize;
/// Quads that one task copies to or from page-locked memory.
const QUADS_PER_TASK: usize = 16 * 1024;

/// How the three steps run on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One launch per step, with intermediates in the GPU's memory.
    ThreeLaunches,
    /// One launch, with intermediates in registers.
    Fused,
    /// One launch, with the hardware's approximation of tanh.
    FusedFast,
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 3] = [Self::ThreeLaunches, Self::Fused, Self::FusedFast];

    /// Label of the time with copies of the input and the result.
    pub fn label(self) -> &'static str {
        match self {
            Self::ThreeLaunches => "CUDA three launches",
            Self::Fused => "CUDA fused",
            Self::FusedFast => "CUDA fused fast",
        }
    }

    /// Label of the time of the kernels alone, with data in the GPU's memory.
    pub fn kernel_label(self) -> String {
        format!("{} kernel", self.label())
    }

    /// Label of the time of the kernels alone, with data in the L2 cache.
    pub fn kernel_in_l2_label(self) -> String {
        format!("{} kernel in L2", self.label())
    }
}

/// Labels of other times on a GPU, not of a [`Version`].
pub mod label {
    /// Three launches with copies to the host and back after each step.
    pub const COPIED: &str = "CUDA copied";
}

/// The errors of the GPU versions.
#[derive(Debug, thiserror::Error)]
pub enum ActivationGpuError {
    /// The numbers of values and of weights differ.
    #[error(transparent)]
    Length(#[from] LengthMismatch),
    /// The number of values is not the buffers' length.
    #[error("{given} values for buffers of {length}: allocate new buffers, or pass {length} values")]
    OtherLength {
        /// Length of the buffers, in values.
        length: usize,
        /// Number of values passed.
        given: usize,
    },
    /// There are more values than the kernels' 32-bit indices of quads allow.
    #[error("{length} values on the GPU: the maximum is {}; split them into several calls", 4 * MAX_QUADS)]
    TooMany {
        /// Number of values requested.
        length: usize,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Error),
}

/// Runs all three steps in one launch on a device: tanh(x / 255 · w), within
/// [`TOLERANCE`](crate::TOLERANCE).
///
/// # Errors
/// If the numbers of values and weights differ, there are 2³⁴ − 3 values or more, or the device fails.
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

/// Reusable device buffers for the values, their weights and every step's result, which the next
/// step reads.
#[derive(Debug)]
pub struct ActivationGpu<'a> {
    device: &'a Device,
    length: usize,
    values: Buffer<F32x4>,
    weights: Buffer<F32x4>,
    normalized: Buffer<F32x4>,
    weighed: Buffer<F32x4>,
    activated: Buffer<F32x4>,
    /// Page-locked staging buffer for copies. Values are packed into quads there.
    staging: PinnedBuffer<F32x4>,
}

impl<'a> ActivationGpu<'a> {
    /// Allocates uninitialized buffers for `length` values.
    ///
    /// # Errors
    /// If `length` is 2³⁴ − 3 or more, or the device has too little memory.
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

    /// Makes as many buffers with these values and weights as [`Device::sets_beyond_cache`] says.
    /// Kernels that cycle through them find none in the L2 cache.
    ///
    /// # Errors
    /// The errors of [`Self::new`] and [`Self::upload`].
    pub fn beyond_cache(device: &'a Device, values: &[f32], weights: &[f32]) -> Result<Vec<Self>, ActivationGpuError> {
        // The fused kernel uses the values, the weights and the result; three launches use more.
        let sets = device.sets_beyond_cache(3 * size_of_val(values));
        let set = |_| {
            let mut set = Self::new(device, values.len())?;
            set.upload(values, weights)?;
            Ok(set)
        };
        (0..sets).map(set).collect()
    }

    /// Copies values and weights to the device.
    ///
    /// # Errors
    /// If the numbers of values and weights differ from each other or from the buffers' length, or the device fails.
    pub fn upload(&mut self, values: &[f32], weights: &[f32]) -> Result<(), ActivationGpuError> {
        LengthMismatch::check(values, weights)?;
        if values.len() != self.length {
            return Err(ActivationGpuError::OtherLength { length: self.length, given: values.len() });
        }
        for (source, buffer) in [(values, &mut self.values), (weights, &mut self.weights)] {
            to_quads(source, &mut self.staging);
            buffer.copy_from(&self.staging)?;
        }
        Ok(())
    }

    /// Launches all three steps. On a GPU, the launches are asynchronous.
    ///
    /// # Errors
    /// If the device fails. On the simulator, also if nothing was uploaded.
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

    /// Launches one step. On a GPU, the launch is asynchronous.
    ///
    /// # Errors
    /// If the device fails. On the simulator, also if the previous step was not launched.
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

    /// Copies a step's result to the host and back, to measure what such copies between two steps cost.
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

    /// The launch configuration; `None` if there are no values.
    fn config(&self) -> Option<LaunchConfig> {
        (self.length > 0).then(|| LaunchConfig::for_elements(self.values.len(), THREADS))
    }
}

/// Packs `values` into `quads`, padding with zeros.
fn to_quads(values: &[f32], quads: &mut [F32x4]) {
    quads.par_chunks_mut(QUADS_PER_TASK).zip(values.par_chunks(4 * QUADS_PER_TASK)).for_each(|(quads, values)| {
        let (whole, rest) = values.as_chunks::<4>();
        for (quad, values) in quads.iter_mut().zip(whole) {
            *quad = F32x4::from(*values);
        }
        if !rest.is_empty() {
            let mut last = [0.0; 4];
            last[..rest.len()].copy_from_slice(rest);
            quads[whole.len()] = F32x4::from(last);
        }
    });
}

/// The first `length` values of `quads`.
fn from_quads(quads: &[F32x4], length: usize) -> Vec<f32> {
    let mut values = vec![0.0; length];
    values.par_chunks_mut(4 * QUADS_PER_TASK).zip(quads.par_chunks(QUADS_PER_TASK)).for_each(|(values, quads)| {
        for (values, quad) in values.chunks_mut(4).zip(quads) {
            values.copy_from_slice(&quad.to_array()[..values.len()]);
        }
    });
    values
}
