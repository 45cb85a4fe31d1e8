//! The recorder of launches that are replayed.

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
    /// The launches so far, to be replayed.
    Recorded(RefCell<Recorded<'a>>),
    /// No recording: each launch runs at once.
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
    /// As [`Device::launch`](crate::Device::launch), except for those of the kernel's run: a replay returns them.
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
