//! The recorder of launches that are replayed.

use std::cell::RefCell;

use cuda_std::{Kernel, LaunchConfig};

use crate::cuda::Capture;
use crate::{Device, DeviceMemory, Error, Launch};

/// Records the launches that [`Device::replay`] repeats.
#[derive(Debug)]
pub struct Recorder<'a> {
    target: Target<'a>,
}

#[derive(Debug)]
enum Target<'a> {
    /// The stream capture of a CUDA graph, and the launches captured so far.
    Graph(&'a Capture<'a>, RefCell<Vec<Launch>>),
    /// No recording: each launch runs at once.
    Device(&'a Device),
}

impl<'a> Recorder<'a> {
    pub(crate) fn into_graph(capture: &'a Capture<'a>) -> Self {
        Self { target: Target::Graph(capture, RefCell::default()) }
    }

    /// A recorder whose launches run on `device` at once.
    pub fn run_on(device: &'a Device) -> Self {
        Self { target: Target::Device(device) }
    }

    /// Appends a launch of `kernel`; see [`Device::launch`].
    ///
    /// # Errors
    /// As [`Device::launch`].
    pub fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<(), Error> {
        match &self.target {
            Target::Graph(capture, launches) => {
                let launch = capture.launch(kernel, config, arguments)?;
                launches.borrow_mut().push(launch);
                Ok(())
            }
            Target::Device(device) => device.run(kernel, config, arguments).map(drop),
        }
    }

    /// The recorded launches, in order.
    pub(crate) fn into_launches(self) -> Vec<Launch> {
        match self.target {
            Target::Graph(_, launches) => launches.into_inner(),
            Target::Device(_) => Vec::new(),
        }
    }
}
