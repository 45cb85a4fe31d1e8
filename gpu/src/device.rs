//! Devices.

use std::num::NonZeroUsize;
use std::rc::Rc;

use cuda_std::simulator;
use cuda_std::{Element, Kernel, LaunchConfig};

use crate::cuda::Cuda;
use crate::{
    Buffer, DeviceChoice, DeviceMemory, Error, LaunchReport, OpenError, PinnedBuffer, PtxVariant, SimulatorOptions,
    Stream,
};

/// A device that runs kernels: a GPU, or the simulator.
///
/// A clone is the same device. It stays on the thread that opened it, because CUDA's context is current there:
///
/// ```compile_fail
/// let device = gpu::Device::simulator();
/// std::thread::spawn(move || device.synchronize());
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Cuda(Rc<Cuda>),
    Simulator {
        options: SimulatorOptions,
        /// Why it is not CUDA, if the user left it open.
        reason: Option<Rc<OpenError>>,
    },
}

impl Device {
    /// Opens the device of the user's choice; a GPU with the kernels in `variants`, from which it takes the variant with
    /// the highest compute capability that it can run.
    ///
    /// `Auto` takes the simulator where there is no GPU, and where the GPU is too old for every variant;
    /// [`why_not_cuda`](Self::why_not_cuda) then has the reason.
    ///
    /// # Errors
    /// If there is a GPU that fails, and for [`DeviceChoice::Cuda`] if there is none.
    pub fn open(choice: DeviceChoice, variants: &'static [PtxVariant]) -> Result<Self, OpenError> {
        if choice == DeviceChoice::Simulator {
            return Ok(Self::simulator());
        }
        match Cuda::open(variants) {
            Ok(cuda) => Ok(Self { kind: Kind::Cuda(Rc::new(cuda)) }),
            Err(error) if choice == DeviceChoice::Auto && error.is_absence() => {
                let options = SimulatorOptions::default();
                Ok(Self { kind: Kind::Simulator { options, reason: Some(Rc::new(error)) } })
            }
            Err(error) => Err(error),
        }
    }

    /// The simulator, with all checks.
    pub fn simulator() -> Self {
        Self::simulator_with(SimulatorOptions::default())
    }

    /// The simulator, with chosen checks.
    pub fn simulator_with(options: SimulatorOptions) -> Self {
        Self { kind: Kind::Simulator { options, reason: None } }
    }

    /// Whether this is the simulator.
    pub fn is_simulator(&self) -> bool {
        matches!(self.kind, Kind::Simulator { .. })
    }

    /// One line that says why there is no CUDA time: the simulator is never timed as if it were a GPU.
    pub fn why_not_timed(&self) -> String {
        match self.why_not_cuda() {
            Some(reason) => format!("CUDA: not timed: {reason}"),
            None => "CUDA: not timed: the simulator was asked for".to_owned(),
        }
    }

    /// Why [`DeviceChoice::Auto`] did not take CUDA; displayed, it is one line.
    pub fn why_not_cuda(&self) -> Option<&OpenError> {
        match &self.kind {
            Kind::Simulator { reason, .. } => reason.as_deref(),
            Kind::Cuda(_) => None,
        }
    }

    /// The GPU's name, or "simulator".
    pub fn name(&self) -> &str {
        self.cuda().map_or("simulator", |cuda| &cuda.name)
    }

    /// The GPU's compute capability, such as (7, 5).
    pub fn compute_capability(&self) -> Option<(u32, u32)> {
        self.cuda().map(|cuda| cuda.compute_capability)
    }

    /// The bytes of the GPU's memory.
    pub fn total_memory(&self) -> Option<usize> {
        self.cuda().map(|cuda| cuda.total_memory)
    }

    /// A buffer with the elements of `values`.
    ///
    /// # Errors
    /// If the GPU has not enough memory, or has failed.
    pub fn buffer_from_slice<T: Element>(&self, values: &[T]) -> Result<Buffer<T>, Error> {
        Buffer::from_slice(&self.kind, values)
    }

    /// A buffer of `length` elements that hold nothing yet. A kernel that reads one before it is written is at fault on
    /// the simulator; on a GPU it reads anything.
    ///
    /// # Errors
    /// As [`buffer_from_slice`](Self::buffer_from_slice).
    pub fn uninitialized<T: Element>(&self, length: usize) -> Result<Buffer<T>, Error> {
        Buffer::uninitialized(&self.kind, length)
    }

    /// A buffer of `length` zeros.
    ///
    /// # Errors
    /// As [`buffer_from_slice`](Self::buffer_from_slice).
    pub fn zeroed<T: Element + Default>(&self, length: usize) -> Result<Buffer<T>, Error> {
        Buffer::zeroed(&self.kind, length)
    }

    /// Memory of the host with `length` zeros that copies to and from the GPU fastest.
    ///
    /// # Errors
    /// If the system has not enough memory that can be locked.
    pub fn pinned<T: Element + Default>(&self, length: usize) -> Result<PinnedBuffer<T>, Error> {
        PinnedBuffer::zeroed(&self.kind, length)
    }

    /// A queue of launches beside the device's own.
    ///
    /// # Errors
    /// If the driver has no more.
    pub fn stream(&self) -> Result<Stream, Error> {
        Stream::new(self)
    }

    /// Launches `kernel`.
    ///
    /// A GPU queues the launch after those before it; there is then nothing to report. The simulator runs the kernel
    /// and reports what it did.
    ///
    /// # Errors
    /// If CUDA takes no launch of this shape, a buffer is on another device, the PTX has no such kernel, or the driver
    /// refuses; on the simulator also for what the kernel does wrong, on a GPU for what an earlier one did.
    pub fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<Option<LaunchReport>, Error> {
        match &self.kind {
            Kind::Cuda(cuda) => cuda.launch(&cuda.stream, kernel, config, arguments).map(|()| None),
            Kind::Simulator { options, .. } => {
                let report = simulator::launch_in::<DeviceMemory, K>(*options, kernel, config, arguments);
                report.map(Some).map_err(|error| Error::simulated(K::NAME, error))
            }
        }
    }

    /// Waits for all launches, on all streams.
    ///
    /// # Errors
    /// If one of them failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.cuda().map_or(Ok(()), Cuda::synchronize)
    }

    /// Runs `work` and returns beside its result how many seconds passed on the GPU between two events, one in the
    /// device's queue before the launches of `work` and one after them.
    ///
    /// Copies in `work` count too, launches in a [`Stream`] do not: for the time of the kernels alone leave both out. A
    /// kernel's first launch takes longer, because the driver loads it then.
    ///
    /// On the simulator there is no time: what it takes says nothing about a GPU.
    ///
    /// ```
    /// # let device = gpu::Device::simulator();
    /// let (result, seconds) = device.time(|| device.synchronize())?;
    /// assert_eq!((result, seconds), ((), None));
    /// # Ok::<(), gpu::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `work`, and of the launches in it.
    pub fn time<R>(&self, work: impl FnOnce() -> Result<R, Error>) -> Result<(R, Option<f64>), Error> {
        match self.cuda() {
            Some(cuda) => cuda.time(work).map(|(result, seconds)| (result, Some(seconds))),
            None => work().map(|result| (result, None)),
        }
    }

    /// The seconds that each of `repeats` calls of `work` takes on the GPU, after one call to warm up; None on the
    /// simulator.
    ///
    /// # Errors
    /// As [`time`](Self::time).
    pub fn time_repeats(
        &self,
        repeats: NonZeroUsize,
        mut work: impl FnMut() -> Result<(), Error>,
    ) -> Result<Option<Vec<f64>>, Error> {
        self.time(&mut work)?;
        (0..repeats.get()).map(|_| Ok(self.time(&mut work)?.1)).collect()
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    fn cuda(&self) -> Option<&Cuda> {
        match &self.kind {
            Kind::Cuda(cuda) => Some(cuda),
            Kind::Simulator { .. } => None,
        }
    }
}
