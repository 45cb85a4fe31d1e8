//! A GPU's attributes.

use cust::device::Device;
use cust::sys::{self, CUdevice_attribute};

use super::status::succeed;
use crate::OpenError;

/// The attributes of a GPU, as the driver reports them.
#[derive(Debug)]
pub(crate) struct Properties {
    pub(crate) name: String,
    pub(crate) compute_capability: (u32, u32),
    /// Global memory in bytes.
    pub(crate) total_memory: usize,
    pub(crate) multiprocessors: u32,
    /// Maximum shared memory per block in bytes, for a kernel that opts in to more than 48 KiB.
    pub(crate) max_shared_bytes: u32,
    /// Size of the L2 cache in bytes.
    pub(crate) l2_bytes: u32,
    pub(crate) supports_cooperative_launch: bool,
    /// Whether the driver is `cuda_emulator`, which runs its devices on the CPU.
    pub(crate) is_emulated: bool,
}

/// Whether a device of this name belongs to the emulated driver, so its times are an interpreter's.
pub fn is_emulated(name: &str) -> bool {
    name.starts_with("CUDA emulator")
}

impl Properties {
    pub(super) fn of(device: Device) -> Result<Self, OpenError> {
        use CUdevice_attribute::*;
        let capability = "querying the compute capability";
        let shared = "querying the shared memory per block";
        let name = device.name().map_err(OpenError::driver("querying the GPU's name"))?;
        Ok(Self {
            is_emulated: is_emulated(&name),
            name,
            total_memory: device.total_memory().map_err(OpenError::driver("querying the GPU's memory"))?,
            compute_capability: (
                attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, capability)?,
                attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, capability)?,
            ),
            multiprocessors: attribute(
                device,
                CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                "querying the number of multiprocessors",
            )?,
            max_shared_bytes: attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared)?
                .max(attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, shared)?),
            l2_bytes: attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, "querying the size of the L2 cache")?,
            supports_cooperative_launch: attribute(
                device,
                CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
                "querying the support of cooperative launches",
            )? != 0,
        })
    }
}

/// Queries an attribute that cust's `DeviceAttribute` lacks, or that is queried in the same way.
#[allow(unsafe_code)]
fn attribute(device: Device, attribute: CUdevice_attribute, operation: &'static str) -> Result<u32, OpenError> {
    let mut value = 0;
    // SAFETY: `value` is a valid out-pointer.
    let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device.as_raw()) };
    succeed(result).map_err(|error| OpenError::Driver { operation, error })?;
    Ok(value.unsigned_abs())
}
