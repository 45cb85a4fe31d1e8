//! Devices.

use std::num::NonZeroUsize;
use std::rc::Rc;

use cuda_std::simulator;
use cuda_std::{Dim3, Element, Kernel, LaunchConfig};

use crate::cuda::Cuda;
use crate::interpreter::Interpreter;
use crate::recording::{self, Recording};
use crate::{
    Buffer, DeviceChoice, DeviceMemory, Error, InterpreterOptions, LaunchReport, OpenError, PinnedBuffer, PtxVariant,
    Recorder, SimulatorOptions,
};

/// A device that runs kernels: a GPU, the simulator, or the interpreter of PTX.
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
    Interpreter(Rc<Interpreter>),
}

impl Device {
    /// Opens the device of the user's choice; a GPU with the kernels in `variants`, from which it takes the variant with
    /// the highest compute capability that it can run.
    ///
    /// `Auto` takes the simulator where there is no GPU, and where the GPU is too old for every variant;
    /// [`why_not_cuda`](Self::why_not_cuda) then has the reason. `Ptx` takes the interpreter with the newest variant.
    ///
    /// # Errors
    /// If there is a GPU that fails, and for [`DeviceChoice::Cuda`] if there is none; for [`DeviceChoice::Ptx`] if the
    /// interpreter does not understand the PTX.
    pub fn open(choice: DeviceChoice, variants: &'static [PtxVariant]) -> Result<Self, OpenError> {
        match choice {
            DeviceChoice::Simulator => return Ok(Self::simulator()),
            DeviceChoice::Ptx => {
                let newest = PtxVariant::newest(variants).ok_or(OpenError::NoPtx)?;
                return Self::interpreter(newest, InterpreterOptions::default());
            }
            DeviceChoice::Auto | DeviceChoice::Cuda => {}
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

    /// The interpreter with the kernels of one variant.
    ///
    /// # Errors
    /// If it does not understand the PTX.
    pub fn interpreter(variant: &PtxVariant, options: InterpreterOptions) -> Result<Self, OpenError> {
        Ok(Self { kind: Kind::Interpreter(Rc::new(Interpreter::open(variant, options)?)) })
    }

    /// Whether this is a GPU, whose time says something.
    pub fn is_gpu(&self) -> bool {
        self.cuda().is_some()
    }

    /// Whether this is the simulator.
    pub fn is_simulator(&self) -> bool {
        matches!(self.kind, Kind::Simulator { .. })
    }

    /// What a device's instructions did, for those who want to see it: on the interpreter the reports of all launches
    /// since the last call, which begins to keep them; nothing on other devices.
    pub fn take_ptx_reports(&self) -> Vec<ptx_interpreter::LaunchReport> {
        match &self.kind {
            Kind::Interpreter(interpreter) => interpreter.take_reports(),
            Kind::Cuda(_) | Kind::Simulator { .. } => Vec::new(),
        }
    }

    /// One line that says why there is no CUDA time: nothing that runs on the CPU is timed as if it were a GPU.
    pub fn why_not_timed(&self) -> String {
        match (self.why_not_cuda(), &self.kind) {
            (Some(reason), _) => format!("CUDA: not timed: {reason}"),
            (None, Kind::Interpreter(_)) => "CUDA: not timed: the PTX interpreter was asked for".to_owned(),
            (None, _) => "CUDA: not timed: the simulator was asked for".to_owned(),
        }
    }

    /// Why [`DeviceChoice::Auto`] did not take CUDA; displayed, it is one line.
    pub fn why_not_cuda(&self) -> Option<&OpenError> {
        match &self.kind {
            Kind::Simulator { reason, .. } => reason.as_deref(),
            Kind::Cuda(_) | Kind::Interpreter(_) => None,
        }
    }

    /// The GPU's name, or "simulator", or the interpreter with the architecture of its PTX.
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Cuda(cuda) => &cuda.properties.name,
            Kind::Simulator { .. } => "simulator",
            Kind::Interpreter(interpreter) => &interpreter.name,
        }
    }

    /// What is written behind the name of a check: nothing on a GPU, else " (simulator)" or the like.
    pub fn remark(&self) -> String {
        if self.is_gpu() { String::new() } else { format!(" ({})", self.name()) }
    }

    /// The GPU's compute capability, such as (7, 5), or that of the PTX which is interpreted.
    pub fn compute_capability(&self) -> Option<(u32, u32)> {
        match &self.kind {
            Kind::Cuda(cuda) => Some(cuda.properties.compute_capability),
            Kind::Interpreter(interpreter) => Some(interpreter.compute_capability),
            Kind::Simulator { .. } => None,
        }
    }

    /// The bytes of the GPU's memory.
    pub fn total_memory(&self) -> Option<usize> {
        self.cuda().map(|cuda| cuda.properties.total_memory)
    }

    /// The GPU's multiprocessors, each of which runs some blocks at once.
    pub fn multiprocessors(&self) -> Option<u32> {
        self.cuda().map(|cuda| cuda.properties.multiprocessors)
    }

    /// Most bytes of shared memory that a block may have, its arrays and the dynamic part together; its arrays alone have
    /// at most [`LaunchConfig::MAX_STATIC_SHARED_BYTES`].
    pub fn max_shared_bytes(&self) -> u32 {
        match &self.kind {
            Kind::Cuda(cuda) => cuda.properties.max_shared_bytes,
            Kind::Simulator { options, .. } => options.max_shared_bytes,
            Kind::Interpreter(_) => ptx_interpreter::Machine::MAX_SHARED_BYTES as u32,
        }
    }

    /// Most blocks of a [cooperative](LaunchConfig::cooperative) launch of `kernel`, whose blocks are of this size: as many
    /// as run at once. Zero if the device runs none.
    ///
    /// # Errors
    /// If the device has no cooperative launches, takes no block of this shape, or the PTX has no such kernel.
    pub fn max_cooperative_blocks<K: Kernel>(
        &self,
        _kernel: &K,
        block: impl Into<Dim3>,
        dynamic_shared_bytes: u32,
    ) -> Result<u32, Error> {
        let block = block.into();
        match &self.kind {
            Kind::Cuda(cuda) => cuda.max_cooperative_blocks(K::NAME, block, dynamic_shared_bytes),
            Kind::Simulator { .. } | Kind::Interpreter(_) => {
                let config = LaunchConfig::new(1, block).with_dynamic_shared(dynamic_shared_bytes);
                config.check().map_err(|error| Error::Limit { kernel: K::NAME, error })?;
                Ok(simulator::max_cooperative_blocks(block.count()))
            }
        }
    }

    /// A buffer with the elements of `values`.
    ///
    /// # Errors
    /// If the GPU has not enough memory, or has failed.
    pub fn buffer_from_slice<T: Element>(&self, values: &[T]) -> Result<Buffer<T>, Error> {
        recording::forbid("buffer_from_slice")?;
        Buffer::from_slice(&self.kind, values)
    }

    /// A buffer of `length` elements that hold nothing yet. A kernel that reads one before it is written is at fault on
    /// the simulator; on a GPU it reads anything.
    ///
    /// # Errors
    /// As [`buffer_from_slice`](Self::buffer_from_slice).
    pub fn uninitialized<T: Element>(&self, length: usize) -> Result<Buffer<T>, Error> {
        recording::forbid("uninitialized")?;
        Buffer::uninitialized(&self.kind, length)
    }

    /// A buffer of `length` zeros.
    ///
    /// # Errors
    /// As [`buffer_from_slice`](Self::buffer_from_slice).
    pub fn zeroed<T: Element + Default>(&self, length: usize) -> Result<Buffer<T>, Error> {
        recording::forbid("zeroed")?;
        Buffer::zeroed(&self.kind, length)
    }

    /// Memory of the host with `length` zeros that copies to and from the GPU fastest.
    ///
    /// # Errors
    /// If the system has not enough memory that can be locked.
    pub fn pinned<T: Element + Default>(&self, length: usize) -> Result<PinnedBuffer<T>, Error> {
        recording::forbid("pinned")?;
        PinnedBuffer::zeroed(&self.kind, length)
    }

    /// Launches `kernel`.
    ///
    /// A GPU queues the launch after those before it; there is then nothing to report. The simulator runs the kernel
    /// and reports what it did.
    ///
    /// # Errors
    /// If CUDA takes no launch of this shape, a buffer is on another device, the PTX has no such kernel, or the driver
    /// refuses; on the simulator also for what the kernel does wrong, on a GPU for what an earlier one did. If the launch
    /// is cooperative, and the device cannot run all of its blocks at once.
    pub fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<Option<LaunchReport>, Error> {
        recording::forbid("launch")?;
        self.run(kernel, config, arguments)
    }

    /// As [`launch`](Self::launch), also for a recorder.
    pub(crate) fn run<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<Option<LaunchReport>, Error> {
        match &self.kind {
            Kind::Cuda(cuda) => cuda.launch(kernel, config, arguments).map(|()| None),
            Kind::Simulator { options, .. } => {
                let report = simulator::launch_in::<DeviceMemory, K>(*options, kernel, config, arguments);
                report.map(Some).map_err(|error| Error::simulated(K::NAME, error))
            }
            Kind::Interpreter(interpreter) => interpreter.launch(kernel, config, arguments).map(|()| None),
        }
    }

    /// Queues the launches of `record` `times` times, which costs less than queueing each: for steps of many small kernels.
    ///
    /// On a GPU, `record` runs once. Its launches are put into a graph of the driver's, which is then queued `times` times;
    /// what the launches are told, numbers and buffers, is the same each time. On the simulator, and with
    /// `GPU_LAUNCH_BLOCKING=1`, `record` runs `times` times, and its launches with it. So it must do the same each time it
    /// runs. With `times` zero it does not run.
    ///
    /// `record` launches by its recorder and leaves the devices alone: other launches, copies, and making or waiting for
    /// anything, are errors in it.
    ///
    /// ```
    /// # use cuda_std::{GlobalMut, kernel, thread};
    /// # use gpu::{Device, LaunchConfig};
    /// # #[kernel]
    /// # pub fn double(x: GlobalMut<f32>) {
    /// #     let i = thread::index_1d() as usize;
    /// #     if i < x.len() {
    /// #         x.set(i, 2.0 * x.get(i));
    /// #     }
    /// # }
    /// # let device = Device::simulator();
    /// let mut x = device.buffer_from_slice(&[1.0_f32, 2.0, 3.0])?;
    /// let config = LaunchConfig::for_elements(x.len(), 128);
    /// device.replay(5, |recorder| recorder.launch(&double, config, (&mut x,)))?;
    /// assert_eq!(x.to_vec()?, [32.0, 64.0, 96.0]);
    /// # Ok::<(), gpu::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `record`, after which nothing of it is queued on a GPU; and if the driver takes its launches one by one,
    /// but not as a graph.
    pub fn replay(
        &self,
        times: usize,
        mut record: impl FnMut(&Recorder<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // Goes last: what is dropped while launches are recorded must not go before they are queued.
        let _recording = Recording::begin()?;
        match self.cuda() {
            Some(cuda) if times > 0 && !cuda.is_blocking() => cuda.replay(times, &mut record),
            _ => (0..times).try_for_each(|_| record(&Recorder::runs_on(self))),
        }
    }

    /// Waits for all launches.
    ///
    /// # Errors
    /// If one of them failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        recording::forbid("synchronize")?;
        self.cuda().map_or(Ok(()), Cuda::synchronize)
    }

    /// Runs `work` and returns beside its result how many seconds passed on the GPU between two events, one in the
    /// device's queue before the launches of `work` and one after them.
    ///
    /// Copies in `work` count too: for the time of the kernels alone leave them out. A kernel's first launch takes longer,
    /// because the driver loads it then. The GPU waits a millisecond before the first event, so that the time of a short
    /// kernel does not contain the host's work of queueing it; of launches that take longer to queue, it does.
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
        recording::forbid("time")?;
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

    fn cuda(&self) -> Option<&Cuda> {
        match &self.kind {
            Kind::Cuda(cuda) => Some(cuda),
            Kind::Simulator { .. } | Kind::Interpreter(_) => None,
        }
    }
}
