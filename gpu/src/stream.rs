//! Queues of launches.

use cuda_std::{Kernel, LaunchConfig};

use crate::cuda::CudaStream;
use crate::device::Kind;
use crate::{Device, DeviceMemory, Error, LaunchReport, recording};

/// A queue of launches. What is in it runs in order; what is in different queues may run at once.
///
/// Copies of buffers wait for all streams. On the simulator and the interpreter every launch is done when it returns.
#[derive(Debug)]
pub struct Stream {
    // Before the device: the stream goes before the context that it belongs to.
    stream: Option<CudaStream>,
    device: Device,
}

impl Stream {
    pub(crate) fn new(device: &Device) -> Result<Self, Error> {
        let stream = match device.kind() {
            Kind::Cuda(cuda) => Some(cuda.new_stream()?),
            Kind::Simulator { .. } | Kind::Interpreter(_) => None,
        };
        Ok(Self { stream, device: device.clone() })
    }

    /// Launches `kernel` in this queue; see [`Device::launch`].
    ///
    /// # Errors
    /// As [`Device::launch`].
    pub fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<Option<LaunchReport>, Error> {
        recording::forbid("launch")?;
        match (self.device.kind(), &self.stream) {
            (Kind::Cuda(cuda), Some(stream)) => cuda.launch(stream, kernel, config, arguments).map(|()| None),
            _ => self.device.launch(kernel, config, arguments),
        }
    }

    /// Waits for the launches in this queue.
    ///
    /// # Errors
    /// If one of them failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        recording::forbid("synchronize")?;
        match (self.device.kind(), &self.stream) {
            (Kind::Cuda(cuda), Some(stream)) => cuda.synchronize_stream(stream),
            _ => Ok(()),
        }
    }
}
