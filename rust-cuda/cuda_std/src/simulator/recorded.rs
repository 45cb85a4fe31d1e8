//! Launches that are recorded once and run any number of times.

use std::fmt;
use std::mem::ManuallyDrop;

use super::launch::Launch;
use super::{LaunchError, LaunchReport, Options};
use crate::{Kernel, LaunchConfig, Memory};

/// A launch with the arguments as they were when it was recorded.
pub struct RecordedLaunch {
    launch: Launch,
    run: Box<dyn Fn(Launch) -> Result<LaunchReport, LaunchError>>,
}

impl RecordedLaunch {
    /// Records a launch of `kernel` on buffers of memory `M`, which must all be in the simulator.
    ///
    /// # Errors
    /// If the launch exceeds a limit, or a buffer is on a GPU.
    ///
    /// # Safety
    /// Until the recorded launch is dropped, the buffers among its arguments live, and only recorded launches of this thread access
    /// their elements.
    #[allow(unsafe_code)]
    pub unsafe fn new<M: Memory, K: Kernel>(
        options: Options,
        _kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, M>,
    ) -> Result<Self, LaunchError> {
        let launch = Launch::new(K::NAME, K::PLACE, config, options)?;
        let parameters = ManuallyDrop::new(K::bind_arguments::<M>(arguments)?);
        let pointer = (&raw const parameters).cast::<K::Parameters<'static>>();
        // SAFETY: the two types differ in lifetimes alone, and the parameters are read once. The caller promises that the buffers live.
        // Elements are borrowed as cells, which other launches may write.
        let parameters = unsafe { pointer.read() };
        let run = move |launch: Launch| {
            launch.run_in_orders(&|| K::run_thread(&parameters), &|visit| K::for_each_mutable(&parameters, visit))
        };
        Ok(Self { launch, run: Box::new(run) })
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &'static str {
        self.launch.kernel
    }

    /// Runs the kernel.
    ///
    /// # Errors
    /// As [`launch`](super::launch).
    pub fn run(&self) -> Result<LaunchReport, LaunchError> {
        (self.run)(self.launch.clone())
    }
}

impl fmt::Debug for RecordedLaunch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RecordedLaunch").field(&self.kernel()).finish()
    }
}
