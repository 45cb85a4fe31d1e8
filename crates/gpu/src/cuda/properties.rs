//! What a GPU is like.

use cust::device::Device;
use cust::sys::{self, CUdevice_attribute};

use super::succeed;
use crate::OpenError;

/// What the driver says about a GPU.
#[derive(Debug)]
pub(crate) struct Properties {
    pub(crate) name: String,
    pub(crate) compute_capability: (u32, u32),
    /// Bytes of its memory.
    pub(crate) total_memory: usize,
    pub(crate) multiprocessors: u32,
    /// Most bytes of shared memory of a block, for a kernel that asks for more than 48 KiB.
    pub(crate) max_shared_bytes: u32,
    /// Whether blocks of a launch may wait for each other.
    pub(crate) launches_cooperatively: bool,
}

impl Properties {
    pub(super) fn of(device: Device) -> Result<Self, OpenError> {
        use CUdevice_attribute::*;
        let capability = "asking for the compute capability";
        let shared = "asking for the shared memory of a block";
        Ok(Self {
            name: device.name().map_err(OpenError::driver("asking for the GPU's name"))?,
            total_memory: device.total_memory().map_err(OpenError::driver("asking for the GPU's memory"))?,
            compute_capability: (
                attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, capability)?,
                attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, capability)?,
            ),
            multiprocessors: attribute(
                device,
                CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                "asking for the multiprocessors",
            )?,
            max_shared_bytes: attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared)?
                .max(attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, shared)?),
            launches_cooperatively: attribute(
                device,
                CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
                "asking for cooperative launches",
            )? != 0,
        })
    }
}

/// An attribute that cust has no name for, or that has none of its own.
#[allow(unsafe_code)]
fn attribute(device: Device, attribute: CUdevice_attribute, operation: &'static str) -> Result<u32, OpenError> {
    let mut value = 0;
    // SAFETY: `value` is a place for a number.
    let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device.as_raw()) };
    succeed(result).map_err(|error| OpenError::Driver { operation, error })?;
    Ok(value.unsigned_abs())
}
