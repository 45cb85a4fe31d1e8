//! Samples in device memory.

use gpu::{Buffer, Device};

use gpu::Error;
use perceptron::Samples;

/// The reason why all rows of samples are a slice.
const ROW_BY_ROW: &str = "samples are stored row by row";

/// A copy of samples in device memory.
#[derive(Debug)]
pub(super) struct SamplesOnDevice {
    /// The original. It is kept alive, so that no other samples are allocated at its address, which identifies it.
    copied: Samples,
    inputs: Buffer<f32>,
    targets: Buffer<f32>,
    in_order: Buffer<u32>,
}

impl SamplesOnDevice {
    /// Copies samples to the device.
    ///
    /// # Errors
    /// If the device does not have enough memory, or fails.
    pub(super) fn new(device: &Device, samples: &Samples) -> Result<Self, Error> {
        let count = u32::try_from(samples.len()).expect("sample indices have 32 bits");
        let in_order: Vec<u32> = (0..count).collect();
        Ok(Self {
            inputs: device.buffer_from_slice(samples.inputs().as_slice().expect(ROW_BY_ROW))?,
            targets: device.buffer_from_slice(samples.targets().as_slice().expect(ROW_BY_ROW))?,
            in_order: device.buffer_from_slice(&in_order)?,
            copied: samples.clone(),
        })
    }

    /// Whether this is a copy of `samples` or of a clone that shares their data.
    pub(super) fn is_copy_of(&self, samples: &Samples) -> bool {
        self.copied.shares_data_with(samples)
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
