//! An opened GPU: its context, its stream and its kernels.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;

use cuda_std::{MemoryId, PtxVariant};
use cust::context::{Context, CurrentContext};
use cust::device::Device;
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags};

use super::modules::Modules;
use super::pool::{Block, LockedBlock, Pool};
use super::properties::Properties;
use super::queue::Queue;
use super::staging::Staging;
use super::wait::WaitKernel;
use crate::{DriverError, Error, OpenError};

/// First CUDA version in which captured launches support programmatic dependent launch.
const DEPENDENT_LAUNCHES_IN_GRAPHS: u32 = 12_030;

/// Maximum number of bytes of page-locked memory to keep.
const MAX_LOCKED_BYTES: usize = 64 << 20;

/// A GPU with its context and its kernels.
#[derive(Debug)]
pub(crate) struct Cuda {
    pub(crate) properties: Properties,
    pub(crate) ptx: PtxVariant,
    /// Whether each launch synchronizes (`GPU_LAUNCH_BLOCKING=1`).
    pub(super) blocking: bool,
    pub(super) queue: RefCell<Queue>,
    /// Whether kernels that wait for the previous launch may start early. Set to false once the
    /// driver has rejected a graph of such launches.
    pub(super) has_dependent_launches: Cell<bool>,
    /// Distinguishes this device's buffers from those of other devices.
    pub(crate) memory: MemoryId,
    /// Created by the first large copy.
    pub(super) staging: RefCell<Option<Staging>>,
    /// Address ranges of the page-locked memory that this device allocated.
    pub(super) page_locked: RefCell<Vec<Range<usize>>>,
    /// Freed memory, kept for later buffers.
    pub(super) pool: RefCell<Pool<Block>>,
    /// The same, page-locked.
    pub(super) locked_pool: RefCell<Pool<LockedBlock>>,
    // Dropped in this order: stream and modules before their context.
    pub(super) stream: Stream,
    /// The streams of launches at once. Before any other operation, the device's stream waits for their work.
    pub(super) streams: RefCell<Vec<Stream>>,
    pub(super) modules: Modules,
    /// Loaded by the first call of `time`.
    wait: OnceCell<WaitKernel>,
    pub(super) context: Context,
}

/// Starts the driver and the primary context of the GPU at `index` modulo the number of GPUs.
pub(crate) fn prepare(index: usize) {
    if cuda_driver::availability().is_ok()
        && let Ok(device) = gpu_at(index)
        && let Ok(context) = Context::new(device)
    {
        // The context would be destroyed with its last owner. Keep it until the process ends.
        std::mem::forget(context);
    }
}

/// The GPU at `index` modulo the number of GPUs. The driver must be initialized.
fn gpu_at(index: usize) -> Result<Device, OpenError> {
    let count = Device::num_devices().map_err(OpenError::driver("counting the GPUs"))?;
    let index = u32::try_from(index % (count.max(1) as usize)).expect("it is below a number of 32 bits");
    Device::get_device(index).map_err(OpenError::driver("opening the GPU"))
}

/// Maximum number of bytes of freed memory to keep: an eighth of the GPU's memory. Other programs
/// and other devices of this program cannot use kept memory.
///
/// Nothing is kept if accesses are checked, because a new buffer must be uninitialized and a freed
/// one invalid. That applies to the emulated driver, and to `GPU_MEMORY_POOL=off`, meant for
/// compute-sanitizer.
fn pool_bytes(properties: &Properties) -> usize {
    let is_off = std::env::var_os("GPU_MEMORY_POOL").is_some_and(|value| value == "off");
    if is_off || properties.is_emulated { 0 } else { properties.total_memory / 8 }
}

impl Cuda {
    /// Opens the GPU at `index` modulo the number of GPUs, and loads the best of `variants` for its
    /// compute capability.
    pub(crate) fn open(variants: &'static [PtxVariant], index: usize) -> Result<Self, OpenError> {
        let driver = cuda_driver::availability()?;
        let device = gpu_at(index)?;
        let properties = Properties::of(device)?;
        let compute_capability = properties.compute_capability;
        let Some(variant) = crate::ptx::choose(variants, compute_capability, driver) else {
            let variants = variants.iter().map(PtxVariant::compute_capability).collect();
            return Err(OpenError::NoPtxVariant { device: properties.name, compute_capability, variants });
        };
        crate::ptx::require_fresh(variant)?;
        let context = Context::new(device).map_err(OpenError::driver("making a context"))?;
        // `new` does this too, but ignores a failure.
        CurrentContext::set_current(&context).map_err(OpenError::driver("entering the context"))?;
        let modules = Modules::open(variant, &properties.name)?;
        let stream = Stream::new(StreamFlags::DEFAULT, None).map_err(OpenError::driver("making a stream"))?;
        let pool_bytes = pool_bytes(&properties);
        Ok(Self {
            properties,
            ptx: *variant,
            blocking: std::env::var_os("GPU_LAUNCH_BLOCKING").is_some_and(|value| value == "1"),
            queue: RefCell::default(),
            has_dependent_launches: Cell::new(
                compute_capability >= (9, 0) && cuda_driver::driver_version() >= DEPENDENT_LAUNCHES_IN_GRAPHS,
            ),
            memory: MemoryId::unique(),
            staging: RefCell::default(),
            page_locked: RefCell::default(),
            pool: RefCell::new(Pool::new(pool_bytes)),
            locked_pool: RefCell::new(Pool::new(pool_bytes.min(MAX_LOCKED_BYTES))),
            stream,
            streams: RefCell::default(),
            modules,
            wait: OnceCell::new(),
            context,
        })
    }

    /// Makes this GPU's context current.
    pub(super) fn enter(&self) -> Result<(), Error> {
        self.check("entering the context", CurrentContext::set_current(&self.context))
    }

    /// Waits for all launches in this device's stream. Synchronizing the whole context would
    /// invalidate another thread's capture in it.
    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        self.enter()?;
        self.check("waiting for the GPU", self.stream.synchronize())?;
        self.queue.borrow_mut().clear();
        self.modules.speech.take();
        Ok(())
    }

    /// Runs `work` between two events and returns their elapsed time in seconds. The GPU waits
    /// while `work` queues its first launches, so a short kernel's time does not include the launch
    /// overhead.
    pub(crate) fn time<R, E: From<Error>>(&self, work: impl FnOnce() -> Result<R, E>) -> Result<(R, f64), E> {
        self.enter()?;
        let event = || self.check("making an event", Event::new(EventFlags::DEFAULT));
        let (start, end) = (event()?, event()?);
        self.queue_wait()?;
        self.check("recording an event", start.record(&self.stream))?;
        let result = work()?;
        // The work may have used another GPU.
        self.enter()?;
        self.check("recording an event", end.record(&self.stream))?;
        self.synchronize()?;
        let milliseconds = self.check("comparing two events", end.elapsed_time_f32(&start))?;
        Ok((result, f64::from(milliseconds) / 1e3))
    }

    /// Queues the wait kernel, unless each launch synchronizes.
    fn queue_wait(&self) -> Result<(), Error> {
        if self.blocking {
            return Ok(());
        }
        if self.wait.get().is_none() {
            let wait = self.check("loading the wait kernel", WaitKernel::load())?;
            self.wait.set(wait).expect("it was empty above, and there is one thread");
        }
        let wait = self.wait.get().expect("it was set above");
        self.check("launching the wait kernel", wait.queue(self.stream.as_inner()))
    }

    /// Cycles per second of a multiprocessor just before the last timed work; None if nothing was
    /// timed.
    pub(crate) fn clock_rate(&self) -> Result<Option<f64>, Error> {
        self.enter()?;
        let Some(wait) = self.wait.get() else { return Ok(None) };
        self.check("reading the wait kernel's clocks", wait.clock_rate())
    }

    /// The error of the pending launches, if a running kernel caused `error`, with the kernel's
    /// messages.
    pub(super) fn failure(&self, error: &DriverError) -> Option<Error> {
        let earlier = self.queue.borrow_mut().failure(error)?;
        Some(match (self.modules.speech.panic(), earlier) {
            (Some(message), Error::Queued { launches, .. }) if !launches.is_empty() => {
                Error::Panic { kernel: launches[launches.len() - 1].kernel, message: Box::new(message) }
            }
            (_, earlier) => earlier,
        })
    }

    /// Converts a driver error to an error of the launches that caused it, or of `operation`.
    pub(super) fn check<T>(
        &self,
        operation: &'static str,
        result: Result<T, impl Into<DriverError>>,
    ) -> Result<T, Error> {
        result.map_err(|error| {
            let error = error.into();
            self.failure(&error).unwrap_or(Error::Driver { operation, error })
        })
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // The module must not be unloaded while one of its kernels runs. A failure cannot be reported here.
        let _ = self.enter();
        let _ = self.stream.synchronize();
        self.modules.speech.take();
    }
}
