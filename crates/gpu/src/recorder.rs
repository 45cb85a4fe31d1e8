//! Launches that are recorded to be repeated.

use std::cell::RefCell;

use cuda_std::{Kernel, LaunchConfig};

use crate::cuda::Capture;
use crate::{Device, DeviceMemory, Error, Launch};

/// Takes the launches that [`Device::replay`] repeats.
#[derive(Debug)]
pub struct Recorder<'a> {
    target: Target<'a>,
}

#[derive(Debug)]
enum Target<'a> {
    /// A graph of the driver's, and what is in it.
    Graph(&'a Capture<'a>, RefCell<Vec<Launch>>),
    /// Nothing is recorded: each launch runs, each time.
    Device(&'a Device),
}

impl<'a> Recorder<'a> {
    pub(crate) fn into_graph(capture: &'a Capture<'a>) -> Self {
        Self { target: Target::Graph(capture, RefCell::default()) }
    }

    pub(crate) fn runs_on(device: &'a Device) -> Self {
        Self { target: Target::Device(device) }
    }

    /// Adds a launch of `kernel` after those before it; see [`Device::launch`].
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

    /// What was recorded, in order.
    pub(crate) fn into_launches(self) -> Vec<Launch> {
        match self.target {
            Target::Graph(_, launches) => launches.into_inner(),
            Target::Device(_) => Vec::new(),
        }
    }
}
