//! The device: one type for a GPU, the simulator and the PTX interpreter.

use std::num::NonZeroUsize;
use std::rc::Rc;

use cuda_std::{Dim3, Element, Kernel, LaunchConfig};

use crate::backend::{Backend, Recorded};
use crate::cuda::Cuda;
use crate::erased::LaunchOf;
use crate::interpreter::Interpreter;
use crate::ptx::Entry;
use crate::recording::{self, Recording};
use crate::{
    AtOnce, Buffer, Capture, DeviceChoice, DeviceMemory, Error, InterpreterOptions, LaunchReport, OpenError,
    PinnedBuffer, PtxVariant, Recorder, Search, SimulatorOptions,
};

/// Calls shorter than this many seconds are timed several in a row.
const SHORT_SECONDS: f64 = 20e-6;
/// Number of such calls.
const CALLS_IN_A_ROW: usize = 10;

/// A device that runs kernels: a GPU, the simulator, or the PTX interpreter.
///
/// A clone is a handle to the same device. It is not `Send`, because the CUDA context is current only on the thread
/// that opened it:
///
/// ```compile_fail
/// let device = gpu::Device::simulator();
/// std::thread::spawn(move || device.synchronize());
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    backend: Backend,
}

impl Device {
    /// Opens the chosen device. A GPU loads the variant with the highest compute capability that it
    /// supports.
    ///
    /// `Auto` falls back to the simulator if there is no GPU or the GPU is too old for every
    /// variant; [`why_not_cuda`](Self::why_not_cuda) then returns the reason. `Ptx` interprets the
    /// newest variant.
    ///
    /// # Errors
    /// If a GPU is present and fails; for [`DeviceChoice::Cuda`] if there is none; for [`DeviceChoice::Ptx`] if the
    /// interpreter cannot load the PTX.
    pub fn open(choice: DeviceChoice, variants: &'static [PtxVariant]) -> Result<Self, OpenError> {
        Self::open_one(choice, variants, 0)
    }

    /// Like [`Self::open`], but with several GPUs it opens the one at `index` modulo their number.
    ///
    /// # Errors
    /// Same as [`Self::open`].
    pub fn open_one(choice: DeviceChoice, variants: &'static [PtxVariant], index: usize) -> Result<Self, OpenError> {
        match choice {
            DeviceChoice::Simulator => return Ok(Self::simulator()),
            DeviceChoice::Ptx => {
                let newest = PtxVariant::newest(variants).ok_or(OpenError::NoPtx)?;
                return Self::interpreter(newest, InterpreterOptions::default());
            }
            DeviceChoice::Auto | DeviceChoice::Cuda => {}
        }
        match Cuda::open(variants, index) {
            Ok(cuda) => Ok(Self { backend: Backend::Cuda(Rc::new(cuda)) }),
            Err(error) if choice == DeviceChoice::Auto && error.is_absence() => {
                Ok(Self { backend: Backend::simulator(SimulatorOptions::default(), Some(error)) })
            }
            Err(error) => Err(error),
        }
    }

    /// Starts the driver and the context of the GPU that [`open_one`](Self::open_one) opens with the same index.
    ///
    /// This takes a few tenths of a second. Call it on a thread while the program reads its data,
    /// to wait less for the device. Without a usable GPU it does nothing; opening the device then
    /// reports the reason.
    pub fn prepare(index: usize) {
        crate::cuda::prepare(index);
    }

    /// The simulator with all checks, for tests: each kernel runs in two schedules
    /// ([`Search::TWO`]).
    pub fn simulator() -> Self {
        Self::simulator_with(SimulatorOptions { search: Search::TWO, ..SimulatorOptions::default() })
    }

    /// The simulator with the checks in `options`.
    pub fn simulator_with(options: SimulatorOptions) -> Self {
        Self { backend: Backend::simulator(options, None) }
    }

    /// The PTX interpreter with the kernels of one variant.
    ///
    /// # Errors
    /// If it cannot load the PTX.
    pub fn interpreter(variant: &PtxVariant, options: InterpreterOptions) -> Result<Self, OpenError> {
        Ok(Self { backend: Backend::Interpreter(Rc::new(Interpreter::open(variant, options)?)) })
    }

    /// Whether this is a GPU. Only a GPU can be timed. A CUDA device is not a GPU if the driver is
    /// `cuda_emulator`.
    pub fn is_gpu(&self) -> bool {
        self.cuda().is_some_and(|cuda| !cuda.properties.is_emulated)
    }

    /// Whether this is the simulator.
    pub fn is_simulator(&self) -> bool {
        self.backend.is_simulator()
    }

    /// The interpreter's reports on all launches since the previous call. The first call only
    /// starts collecting reports and returns none. Other devices never have any.
    pub fn take_ptx_reports(&self) -> Vec<ptx_interpreter::LaunchReport> {
        self.backend.interpreter().map(Interpreter::take_reports).unwrap_or_default()
    }

    /// Captures a launch for `kernel-debugger`, instead of the launch selected in the environment.
    /// Only the PTX interpreter can capture.
    pub fn capture(&self, capture: Capture) {
        if let Some(interpreter) = self.backend.interpreter() {
            interpreter.capture(capture);
        }
    }

    /// The kernel and the simulator's counts of each launch since the previous call, for checking
    /// launches that the caller does not make itself. The first call only starts collecting them
    /// and returns none. Other devices never have any.
    ///
    /// ```
    /// # use cuda_std::{GlobalMut, kernel};
    /// # use gpu::{Device, LaunchConfig};
    /// # #[kernel]
    /// # pub fn fill(x: GlobalMut<f32>) {
    /// #     x.set(cuda_std::thread::index_1d() as usize, 1.0);
    /// # }
    /// let device = Device::simulator();
    /// device.take_simulator_reports();
    /// device.launch(&fill, LaunchConfig::new(3, 32), (&mut device.uninitialized(96)?,))?;
    /// let [(kernel, report)] = device.take_simulator_reports()[..] else { panic!("there was one launch") };
    /// assert_eq!((kernel, report.blocks, report.threads, report.global_stores), ("fill", 3, 96, 96));
    /// # Ok::<(), gpu::Error>(())
    /// ```
    pub fn take_simulator_reports(&self) -> Vec<(&'static str, LaunchReport)> {
        self.backend.take_simulator_reports()
    }

    /// One line that explains why there is no CUDA time. Kernels that run on the CPU are never
    /// timed as if on a GPU.
    pub fn why_not_timed(&self) -> String {
        match self.why_not_cuda() {
            Some(reason) => format!("CUDA: not timed: {reason}"),
            None if self.is_simulator() => "CUDA: not timed: the simulator was asked for".to_owned(),
            None if self.cuda().is_some() => format!("CUDA: not timed: the driver is the {}", self.name()),
            None => "CUDA: not timed: the PTX interpreter was asked for".to_owned(),
        }
    }

    /// Why [`DeviceChoice::Auto`] fell back to the simulator. It is displayed as one line.
    pub fn why_not_cuda(&self) -> Option<&OpenError> {
        self.backend.why_not_cuda()
    }

    /// The GPU's name, "simulator", or the interpreter with the architecture of its PTX: "PTX interpreter, sm_75".
    pub fn name(&self) -> &str {
        self.backend.name()
    }

    /// Suffix for the name of a check: empty on a GPU, otherwise the device's name in parentheses,
    /// " (simulator)".
    pub fn remark(&self) -> String {
        if self.is_gpu() { String::new() } else { format!(" ({})", self.name()) }
    }

    /// The compute capability of the GPU, such as (7, 5), or of the interpreted PTX. None on the
    /// simulator.
    pub fn compute_capability(&self) -> Option<(u32, u32)> {
        self.backend.compute_capability()
    }

    /// The PTX that the GPU or the interpreter runs. None on the simulator.
    pub fn ptx(&self) -> Option<PtxVariant> {
        self.backend.ptx()
    }

    /// The GPU's memory in bytes. None on the other devices.
    pub fn total_memory(&self) -> Option<usize> {
        self.cuda().map(|cuda| cuda.properties.total_memory)
    }

    /// The number of the GPU's streaming multiprocessors. None on the other devices.
    pub fn multiprocessors(&self) -> Option<u32> {
        self.cuda().map(|cuda| cuda.properties.multiprocessors)
    }

    /// Maximum shared memory per block in bytes, static and dynamic together. The static part is at
    /// most [`LaunchConfig::MAX_STATIC_SHARED_BYTES`].
    pub fn max_shared_bytes(&self) -> u32 {
        self.backend.max_shared_bytes()
    }

    /// Whether the device can run `kernel`: its PTX contains the kernel. PTX for older GPUs lacks
    /// kernels that need newer ones.
    pub fn has<K: Kernel>(&self, _kernel: &K) -> bool {
        self.ptx().is_none_or(|ptx| Entry::find(ptx.text(), K::NAME).is_some())
    }

    /// Maximum number of blocks in a [cooperative](LaunchConfig::cooperative) launch of `kernel`:
    /// the blocks of this shape that can be resident at once. Zero if not even one can.
    ///
    /// # Errors
    /// If the device does not support cooperative launches or blocks of this shape, or the PTX has no such kernel.
    pub fn max_cooperative_blocks<K: Kernel>(
        &self,
        _kernel: &K,
        block: impl Into<Dim3>,
        dynamic_shared_bytes: u32,
    ) -> Result<u32, Error> {
        self.backend.max_cooperative_blocks(K::NAME, block.into(), dynamic_shared_bytes)
    }

    /// Maximum number of clusters in a launch of `kernel` with this configuration that can be
    /// resident at once. Zero if the device does not support clusters of this size, or its PTX has
    /// no such kernel.
    ///
    /// # Errors
    /// If the launch exceeds CUDA's limits, or the device has failed.
    pub fn max_clusters<K: Kernel>(&self, _kernel: &K, config: LaunchConfig) -> Result<u32, Error> {
        self.backend.max_clusters(K::NAME, config)
    }

    /// A buffer with the elements of `values`.
    ///
    /// # Errors
    /// If the GPU does not have enough memory, or has failed.
    pub fn buffer_from_slice<T: Element>(&self, values: &[T]) -> Result<Buffer<T>, Error> {
        recording::forbid("buffer_from_slice")?;
        let mut storage = self.backend.uninitialized(values.len())?;
        storage.copy_from(0, values)?;
        Ok(Buffer::new(storage))
    }

    /// A buffer of `length` uninitialized elements. On the simulator and the interpreter, a kernel
    /// fails if it reads an element before it is written, and [`Buffer::to_vec`] fails if an
    /// element is never written. On a GPU both read an unspecified value.
    ///
    /// # Errors
    /// Same as [`buffer_from_slice`](Self::buffer_from_slice).
    pub fn uninitialized<T: Element>(&self, length: usize) -> Result<Buffer<T>, Error> {
        recording::forbid("uninitialized")?;
        self.backend.uninitialized(length).map(Buffer::new)
    }

    /// A buffer of `length` zeros.
    ///
    /// # Errors
    /// Same as [`buffer_from_slice`](Self::buffer_from_slice).
    pub fn zeroed<T: Element + Default>(&self, length: usize) -> Result<Buffer<T>, Error> {
        recording::forbid("zeroed")?;
        self.backend.zeroed(length).map(Buffer::new)
    }

    /// Page-locked host memory with `length` zeros, for the fastest copies to and from the GPU.
    ///
    /// # Errors
    /// If the system cannot lock that much memory.
    pub fn pinned<T: Element + Default>(&self, length: usize) -> Result<PinnedBuffer<T>, Error> {
        recording::forbid("pinned")?;
        self.backend.pinned(length).map(PinnedBuffer::new)
    }

    /// Launches `kernel`.
    ///
    /// On a GPU, queues the launch in the device's stream and returns None. The simulator runs the kernel to completion
    /// and returns its counters; the interpreter runs it to completion and returns None.
    ///
    /// # Errors
    /// If the launch exceeds CUDA's limits, a buffer is on another device, the PTX has no such
    /// kernel, or the driver rejects the launch; if a cooperative launch has more blocks than can
    /// be resident at once. On the simulator and the interpreter also if the kernel has an error;
    /// on a GPU also if an earlier launch failed.
    pub fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<Option<LaunchReport>, Error> {
        recording::forbid("launch")?;
        self.backend.launch(&mut LaunchOf::new(kernel, config, arguments))
    }

    /// Queues the launches of `record` `times` times as a CUDA graph, which costs less than
    /// queueing each one. This suits steps of many small kernels.
    ///
    /// `record` runs once on every device. Its launches and their arguments are kept and then
    /// repeated `times` times. A value that the host changes later has the recorded value in each
    /// repetition. A GPU captures the launches into a graph. The other devices, and a GPU with
    /// `GPU_LAUNCH_BLOCKING=1`, run them one by one. If `times` is zero, `record` does not run.
    ///
    /// `record` may only launch kernels, and only through its recorder: other launches, copies,
    /// allocations and waiting return [`Error::Recording`]. It may drop buffers; their memory is
    /// freed after the repetitions. A launch that the recorder rejects is not repeated.
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
    /// Errors from `record`, in which case none of its launches runs; errors from the launches; and
    /// if the driver cannot capture, instantiate or launch the graph.
    pub fn replay(&self, times: usize, record: impl FnOnce(&Recorder<'_>) -> Result<(), Error>) -> Result<(), Error> {
        // Dropped last: buffers that are dropped during recording must outlive the launches.
        let recording = Recording::begin()?;
        if times == 0 {
            return Ok(());
        }
        let recorder = Recorder::into(Recorded::new(&self.backend, &recording));
        record(&recorder)?;
        recorder.replay(times)
    }

    /// Queues the launches of `add` to run at the same time, as far as the device has room. They are distributed
    /// among CUDA streams, at most one per multiprocessor. They begin after all earlier launches, and later
    /// operations begin after them. The host does not wait. A GPU starts none of them before `add` returns.
    ///
    /// Each launch borrows its buffers until `add` returns. So two launches may read the same buffer, but none may
    /// write a buffer that another one uses. The results equal the results of launches one after another. The
    /// simulator and the interpreter launch one after another, and so does a GPU with `GPU_LAUNCH_BLOCKING=1`, or if
    /// one of the launches is cooperative or may print.
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
    /// let mut members = [device.buffer_from_slice(&[1.0_f32, 2.0])?, device.buffer_from_slice(&[3.0, 4.0])?];
    /// let each = members.iter_mut();
    /// device.launch_at_once(|at_once| {
    ///     each.into_iter().try_for_each(|x| at_once.launch(&double, LaunchConfig::for_elements(2, 32), (x,)))
    /// })?;
    /// assert_eq!(members[1].to_vec()?, [6.0, 8.0]);
    /// # Ok::<(), gpu::Error>(())
    /// ```
    ///
    /// A buffer that one launch writes can be in no other:
    ///
    /// ```compile_fail,E0499
    /// # use cuda_std::{GlobalMut, kernel, thread};
    /// # use gpu::{Device, LaunchConfig};
    /// # #[kernel]
    /// # pub fn double(x: GlobalMut<f32>) {
    /// #     x.set(0, 2.0 * x.get(0));
    /// # }
    /// # let device = Device::simulator();
    /// # let mut x = device.buffer_from_slice(&[1.0_f32, 2.0])?;
    /// let x = &mut x;
    /// device.launch_at_once(move |at_once| {
    ///     at_once.launch(&double, LaunchConfig::for_elements(2, 32), (&mut *x,))?;
    ///     at_once.launch(&double, LaunchConfig::for_elements(2, 32), (&mut *x,))
    /// })?;
    /// # Ok::<(), gpu::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `add` fails: a GPU then runs none of its launches. If a launch fails.
    pub fn launch_at_once<'a>(&'a self, add: impl FnOnce(&AtOnce<'a>) -> Result<(), Error>) -> Result<(), Error> {
        recording::forbid("launch_at_once")?;
        let at_once = AtOnce::new(&self.backend);
        add(&at_once)?;
        at_once.queue()
    }

    /// Waits until all launches have finished.
    ///
    /// # Errors
    /// If one of them failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        recording::forbid("synchronize")?;
        self.cuda().map_or(Ok(()), Cuda::synchronize)
    }

    /// Runs `work` and returns its result and the elapsed time in seconds between two CUDA events, recorded in the
    /// device's stream before and after the launches of `work`.
    ///
    /// Copies in `work` count too: leave them out to time only the kernels. A kernel's first launch
    /// takes longer, because the driver loads the kernel then. The GPU is kept busy for a
    /// millisecond before the first event. So launches that take less than that to queue are timed
    /// without the host's launch overhead.
    ///
    /// The simulator, the interpreter and an emulated GPU return None, because their times say
    /// nothing about a GPU.
    ///
    /// ```
    /// # let device = gpu::Device::simulator();
    /// let (result, seconds) = device.time(|| device.synchronize())?;
    /// assert_eq!((result, seconds), ((), None));
    /// # Ok::<(), gpu::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors from `work` and from its launches.
    pub fn time<R, E: From<Error>>(&self, work: impl FnOnce() -> Result<R, E>) -> Result<(R, Option<f64>), E> {
        recording::forbid("time")?;
        match self.cuda() {
            Some(cuda) => {
                let (result, seconds) = cuda.time(work)?;
                Ok((result, Some(seconds).filter(|_| self.is_gpu())))
            }
            None => work().map(|result| (result, None)),
        }
    }

    /// GPU time in seconds of each of `repeats` calls of `work`, after a warm-up call; None on the
    /// other devices.
    ///
    /// Two events are at least 0.5 µs apart. Calls that take less than 20 µs are therefore timed
    /// ten in a row, and the time is their mean. `work` receives the number of the call and can use
    /// it to choose its buffers. If it alternates between
    /// [`sets_beyond_cache`](Self::sets_beyond_cache) sets, no call finds its data in the L2 cache.
    ///
    /// # Errors
    /// Same as [`time`](Self::time).
    pub fn time_repeats<E: From<Error>>(
        &self,
        repeats: NonZeroUsize,
        mut work: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<Vec<f64>>, E> {
        let mut call = 0;
        let mut timed = |calls: usize| -> Result<Option<f64>, E> {
            let numbers = call..call + calls;
            call += calls;
            let ((), seconds) = self.time(|| numbers.into_iter().try_for_each(&mut work))?;
            Ok(seconds.map(|seconds| seconds / calls as f64))
        };
        // The driver loads the kernels in the first call. The second call shows how long one takes.
        timed(1)?;
        let calls = match timed(1)? {
            Some(seconds) if seconds < SHORT_SECONDS => CALLS_IN_A_ROW,
            _ => 1,
        };
        (0..repeats.get()).map(|_| timed(calls)).collect()
    }

    /// Number of buffer sets of `bytes` bytes each that together are twice as large as the GPU's L2
    /// cache. If kernels use one set after the other, none is in the cache. At least 2; 1 on the
    /// other devices.
    pub fn sets_beyond_cache(&self, bytes: usize) -> usize {
        self.l2_bytes().map_or(1, |cache| (2 * cache).div_ceil(bytes.max(1)).max(2))
    }

    /// The size of the GPU's L2 cache in bytes. None on the other devices.
    pub fn l2_bytes(&self) -> Option<usize> {
        self.cuda().map(|cuda| cuda.properties.l2_bytes as usize)
    }

    /// Cycles per second of a multiprocessor, measured just before the last work that
    /// [`time`](Self::time) timed, by the kernel that kept the GPU busy. None if nothing was timed,
    /// and on the other devices.
    ///
    /// # Errors
    /// If the GPU has failed.
    pub fn clock_rate(&self) -> Result<Option<f64>, Error> {
        recording::forbid("clock_rate")?;
        self.cuda().map_or(Ok(None), Cuda::clock_rate)
    }

    fn cuda(&self) -> Option<&Cuda> {
        self.backend.cuda()
    }
}

impl<'a> Recorder<'a> {
    /// A recorder that runs its launches on `device` immediately.
    pub fn run_on(device: &'a Device) -> Self {
        Self::at_once(&device.backend)
    }
}
