//! Launches that may run at the same time.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use cuda_std::{Kernel, LaunchConfig};

use crate::backend::{Backend, Simultaneous};
use crate::erased::LaunchOf;
use crate::{DeviceMemory, Error, recording};

/// Takes the launches of [`Device::launch_at_once`](crate::Device::launch_at_once).
///
/// Each launch borrows its buffers for `'a`, which outlives the closure that makes the launches. So two
/// launches cannot share a buffer if one of them writes it. The lifetime is invariant: with a shorter one, a
/// borrow would end before the next launch.
#[derive(Debug)]
pub struct AtOnce<'a> {
    launches: RefCell<Simultaneous<'a>>,
    buffers: PhantomData<Cell<&'a ()>>,
}

impl<'a> AtOnce<'a> {
    pub(crate) fn new(backend: &'a Backend) -> Self {
        Self { launches: RefCell::new(Simultaneous::new(backend)), buffers: PhantomData }
    }

    /// Adds a launch of `kernel`; see [`Device::launch`](crate::Device::launch).
    ///
    /// # Errors
    /// The errors of [`Device::launch`](crate::Device::launch). Errors while the kernel runs on a GPU are
    /// returned by the call that waits for it.
    pub fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'a, DeviceMemory>,
    ) -> Result<(), Error> {
        recording::forbid("launch")?;
        self.launches.borrow_mut().push(&mut LaunchOf::new(kernel, config, arguments))
    }

    /// Queues the launches.
    pub(crate) fn queue(self) -> Result<(), Error> {
        self.launches.into_inner().queue()
    }
}
