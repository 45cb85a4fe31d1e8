//! Records launches for replay.

use std::cell::RefCell;

use cuda_std::{Kernel, LaunchConfig};

use crate::backend::{Backend, Recorded};
use crate::erased::LaunchOf;
use crate::{DeviceMemory, Error, recording};

/// Records the launches that [`Device::replay`](crate::Device::replay) repeats.
#[derive(Debug)]
pub struct Recorder<'a> {
    target: Target<'a>,
}

#[derive(Debug)]
enum Target<'a> {
    /// The recorded launches, to be replayed.
    Recorded(RefCell<Recorded<'a>>),
    /// No recording: each launch runs immediately.
    Backend(&'a Backend),
}

impl<'a> Recorder<'a> {
    pub(crate) fn into(recorded: Recorded<'a>) -> Self {
        Self { target: Target::Recorded(RefCell::new(recorded)) }
    }

    pub(crate) fn at_once(backend: &'a Backend) -> Self {
        Self { target: Target::Backend(backend) }
    }

    /// Appends a launch of `kernel`; see [`Device::launch`](crate::Device::launch).
    ///
    /// # Errors
    /// Same as [`Device::launch`](crate::Device::launch), except for errors when the kernel runs: a
    /// replay returns those.
    pub fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<(), Error> {
        let mut launch = LaunchOf::new(kernel, config, arguments);
        match &self.target {
            Target::Recorded(recorded) => recorded.borrow_mut().push(&mut launch),
            Target::Backend(backend) => {
                recording::forbid("launch")?;
                backend.launch(&mut launch).map(drop)
            }
        }
    }

    /// Runs the recorded launches `times` times.
    pub(crate) fn replay(self, times: usize) -> Result<(), Error> {
        match self.target {
            Target::Recorded(recorded) => recorded.into_inner().replay(times),
            Target::Backend(_) => Ok(()),
        }
    }
}
