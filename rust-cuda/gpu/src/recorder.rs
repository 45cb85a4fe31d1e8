//! The recorder of launches that are replayed.

use cuda_std::{Kernel, LaunchConfig};

use crate::backend::Backend;
use crate::cuda::Capture;
use crate::erased::LaunchOf;
use crate::{DeviceMemory, Error};

/// Records the launches that [`Device::replay`](crate::Device::replay) repeats.
#[derive(Debug)]
pub struct Recorder<'a> {
    target: Target<'a>,
}

#[derive(Debug)]
enum Target<'a> {
    /// The stream capture of a CUDA graph.
    Graph(&'a Capture<'a>),
    /// No recording: each launch runs at once.
    Backend(&'a Backend),
}

impl<'a> Recorder<'a> {
    pub(crate) fn into_graph(capture: &'a Capture<'a>) -> Self {
        Self { target: Target::Graph(capture) }
    }

    pub(crate) fn at_once(backend: &'a Backend) -> Self {
        Self { target: Target::Backend(backend) }
    }

    /// Appends a launch of `kernel`; see [`Device::launch`](crate::Device::launch).
    ///
    /// # Errors
    /// As [`Device::launch`](crate::Device::launch).
    pub fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<(), Error> {
        let mut launch = LaunchOf::new(kernel, config, arguments);
        match &self.target {
            Target::Graph(capture) => capture.launch(&mut launch),
            Target::Backend(backend) => backend.launch(&mut launch).map(drop),
        }
    }
}
