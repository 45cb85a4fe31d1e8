//! Samples in the device's memory.

use ::gpu::{Buffer, Device};

use crate::Samples;
use crate::engine::DeviceError;
use crate::samples::ROW_BY_ROW;

/// Samples on the device.
#[derive(Debug)]
pub(super) struct SamplesOnDevice {
    /// What they are a copy of. Held on to, so that nothing else comes to lie in its place.
    copied: Samples<f32>,
    inputs: Buffer<f32>,
    targets: Buffer<f32>,
    in_order: Buffer<u32>,
}

impl SamplesOnDevice {
    /// Copies samples to the device.
    ///
    /// # Errors
    /// If it has not enough memory, or has failed.
    pub(super) fn new(device: &Device, samples: &Samples<f32>) -> Result<Self, DeviceError> {
        let count = u32::try_from(samples.len()).expect("samples are numbered by 32 bits");
        let in_order: Vec<u32> = (0..count).collect();
        Ok(Self {
            inputs: device.buffer_from_slice(samples.inputs().as_slice().expect(ROW_BY_ROW))?,
            targets: device.buffer_from_slice(samples.targets().as_slice().expect(ROW_BY_ROW))?,
            in_order: device.buffer_from_slice(&in_order)?,
            copied: samples.clone(),
        })
    }

    /// Whether these are the very same samples.
    pub(super) fn are(&self, samples: &Samples<f32>) -> bool {
        self.copied.are_shared_with(samples)
    }

    /// The number of samples.
    pub(super) fn len(&self) -> usize {
        self.in_order.len()
    }

    /// *N* × inputs.
    pub(super) fn inputs(&self) -> &Buffer<f32> {
        &self.inputs
    }

    /// *N* × outputs.
    pub(super) fn targets(&self) -> &Buffer<f32> {
        &self.targets
    }

    /// 0, 1, 2, …
    pub(super) fn in_order(&self) -> &Buffer<u32> {
        &self.in_order
    }
}
