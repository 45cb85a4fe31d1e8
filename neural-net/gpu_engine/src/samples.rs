//! Samples in device memory.

use gpu::{Buffer, Device, Error};
use kernels_gpu::network::ByteScale;
use ndarray::Array2;
use perceptron::Samples;

/// The reason why all rows of samples are a slice.
const ROW_BY_ROW: &str = "samples are stored row by row";

/// *N* × inputs.
#[derive(Debug)]
pub(super) enum Inputs {
    Floats(Buffer<f32>),
    /// Bytes, a quarter of the memory.
    Bytes(Buffer<u8>, ByteScale),
}

/// A copy of samples in device memory.
#[derive(Debug)]
pub(super) struct SamplesOnDevice {
    /// The original. It is kept alive, so that no other samples are allocated at its address, which identifies it.
    copied: Samples,
    inputs: Inputs,
    targets: Buffer<f32>,
    in_order: Buffer<u32>,
    as_floats: bool,
}

impl SamplesOnDevice {
    /// Copies samples to the device: as bytes if they are bytes, and not `as_floats`.
    ///
    /// # Errors
    /// If the device does not have enough memory, or fails.
    pub(super) fn new(device: &Device, samples: &Samples, as_floats: bool) -> Result<Self, Error> {
        let count = u32::try_from(samples.len()).expect("sample indices have 32 bits");
        let in_order: Vec<u32> = (0..count).collect();
        let scale = samples.byte_values().and_then(ByteScale::of).filter(|_| !as_floats);
        let inputs = match samples.bytes().zip(scale) {
            Some((bytes, scale)) => Inputs::Bytes(device.buffer_from_slice(bytes)?, scale),
            None => {
                let floats = samples.inputs().as_slice().expect(ROW_BY_ROW);
                Inputs::Floats(device.buffer_from_slice(floats)?)
            }
        };
        Ok(Self {
            inputs,
            targets: device.buffer_from_slice(samples.targets().as_slice().expect(ROW_BY_ROW))?,
            in_order: device.buffer_from_slice(&in_order)?,
            copied: samples.clone(),
            as_floats,
        })
    }

    /// Whether this is a copy of `samples` or of a clone that shares their data.
    pub(super) fn is_copy_of(&self, samples: &Samples) -> bool {
        self.copied.shares_data_with(samples)
    }

    /// Whether an engine that trains on `samples`, `as_floats` or not, can use this copy: those have the same bits.
    pub(super) fn can_be(&self, samples: &Samples, as_floats: bool) -> bool {
        let are_floats = self.copied.bytes().is_none() && samples.bytes().is_none();
        let are_same = |a: &Array2<f32>, b: &Array2<f32>| {
            a.dim() == b.dim() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        };
        let has_same_bits =
            || are_same(self.copied.targets(), samples.targets()) && are_same(self.copied.inputs(), samples.inputs());
        self.as_floats == as_floats && (self.is_copy_of(samples) || are_floats && has_same_bits())
    }

    /// The number of samples.
    pub(super) fn len(&self) -> usize {
        self.in_order.len()
    }

    /// *N* × inputs.
    pub(super) fn inputs(&self) -> &Inputs {
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
