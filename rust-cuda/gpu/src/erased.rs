//! A type-erased launch of any kernel with any arguments.
//!
//! Generic code is compiled once for each kernel that a program launches. Devices therefore work
//! with this trait, and only its few functions are compiled per kernel.

use cuda_std::{ArgumentError, Kernel, LaunchConfig, MemoryId, RawParameters, simulator};

use crate::{DeviceMemory, LaunchReport, SimulatorOptions};

/// A launch of any kernel.
pub(crate) trait AnyLaunch {
    /// The kernel's name.
    fn kernel(&self) -> &'static str;

    /// The types of the kernel's parameters.
    fn signature(&self) -> &'static [u8];

    fn config(&self) -> LaunchConfig;

    /// The arguments in the driver's form, for the device that owns `memory`. This consumes them: a
    /// launch runs once.
    fn raw_parameters(&mut self, memory: MemoryId) -> Result<RawParameters, ArgumentError>;

    /// Runs the kernel in the simulator and consumes the arguments.
    fn simulate(&mut self, options: SimulatorOptions) -> Result<LaunchReport, simulator::LaunchError>;

    /// Records the launch for the simulator and consumes the arguments.
    ///
    /// # Safety
    /// Same as for [`simulator::RecordedLaunch::new`].
    #[allow(unsafe_code)]
    unsafe fn record(&mut self, options: SimulatorOptions)
    -> Result<simulator::RecordedLaunch, simulator::LaunchError>;
}

/// The launch of a kernel.
pub(crate) struct LaunchOf<'k, 'a, K: Kernel> {
    kernel: &'k K,
    config: LaunchConfig,
    /// None once they have been consumed.
    arguments: Option<K::Arguments<'a, DeviceMemory>>,
}

impl<'k, 'a, K: Kernel> LaunchOf<'k, 'a, K> {
    pub(crate) fn new(kernel: &'k K, config: LaunchConfig, arguments: K::Arguments<'a, DeviceMemory>) -> Self {
        Self { kernel, config, arguments: Some(arguments) }
    }

    fn take_arguments(&mut self) -> K::Arguments<'a, DeviceMemory> {
        self.arguments.take().expect("a launch runs once")
    }
}

impl<K: Kernel> AnyLaunch for LaunchOf<'_, '_, K> {
    fn kernel(&self) -> &'static str {
        K::NAME
    }

    fn signature(&self) -> &'static [u8] {
        K::SIGNATURE
    }

    fn config(&self) -> LaunchConfig {
        self.config
    }

    fn raw_parameters(&mut self, memory: MemoryId) -> Result<RawParameters, ArgumentError> {
        RawParameters::of::<K, DeviceMemory>(self.kernel, self.take_arguments(), memory)
    }

    fn simulate(&mut self, options: SimulatorOptions) -> Result<LaunchReport, simulator::LaunchError> {
        let arguments = self.take_arguments();
        simulator::launch_in::<DeviceMemory, K>(options, self.kernel, self.config, arguments)
    }

    #[allow(unsafe_code)]
    unsafe fn record(
        &mut self,
        options: SimulatorOptions,
    ) -> Result<simulator::RecordedLaunch, simulator::LaunchError> {
        let arguments = self.take_arguments();
        // SAFETY: the caller upholds this function's contract.
        unsafe { simulator::RecordedLaunch::new::<DeviceMemory, K>(options, self.kernel, self.config, arguments) }
    }
}
