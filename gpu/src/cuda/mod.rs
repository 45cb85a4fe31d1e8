//! A GPU, through cust.
//!
//! Everything here happens on the thread that opened the GPU, where its context is current: a [`Cuda`] is shared by
//! `Rc`, and so are its buffers and streams. The context is the GPU's primary one, so it is the same for all who open it.

mod memory;
mod module;
mod queue;

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_void};

use cuda_std::{Kernel, LaunchConfig, RawParameters};
use cust::context::{Context, CurrentContext};
use cust::device::{Device, DeviceAttribute};
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUresult};

use crate::{DeviceMemory, DriverError, Error, Launch, OpenError, PtxVariant};
pub(crate) use memory::{CudaBuffer, CudaPinned};
use module::Module;
use queue::Queue;

/// A GPU with its context and its kernels.
#[derive(Debug)]
pub(crate) struct Cuda {
    pub(crate) name: String,
    pub(crate) compute_capability: (u32, u32),
    pub(crate) total_memory: usize,
    /// Whether each launch is waited for.
    blocking: bool,
    queue: RefCell<Queue>,
    streams: Cell<usize>,
    // Dropped in this order: what belongs to a context goes before it.
    pub(crate) stream: CudaStream,
    module: Module,
    _context: Context,
}

/// A queue of the driver's.
#[derive(Debug)]
pub(crate) struct CudaStream {
    number: usize,
    stream: Stream,
}

impl Cuda {
    /// Opens the first GPU with the one of `variants` that suits it.
    pub(crate) fn open(variants: &'static [PtxVariant]) -> Result<Self, OpenError> {
        cuda_driver::availability()?;
        let device = Device::get_device(0).map_err(OpenError::driver("opening the GPU"))?;
        let name = device.name().map_err(OpenError::driver("asking for the GPU's name"))?;
        let total_memory = device.total_memory().map_err(OpenError::driver("asking for the GPU's memory"))?;
        let compute_capability = compute_capability(device)?;
        let Some(variant) = crate::ptx::choose(variants, compute_capability) else {
            let variants = variants.iter().map(|variant| variant.compute_capability).collect();
            return Err(OpenError::NoPtxVariant { device: name, compute_capability, variants });
        };
        let context = Context::new(device).map_err(OpenError::driver("making a context"))?;
        // `new` has done that too, and said nothing if it failed.
        CurrentContext::set_current(&context).map_err(OpenError::driver("entering the context"))?;
        let module = Module::load(variant, &name)?;
        let stream = Stream::new(StreamFlags::DEFAULT, None).map_err(OpenError::driver("making a stream"))?;
        Ok(Self {
            name,
            compute_capability,
            total_memory,
            blocking: std::env::var_os("GPU_LAUNCH_BLOCKING").is_some_and(|value| value == "1"),
            queue: RefCell::default(),
            streams: Cell::new(1),
            stream: CudaStream { number: 0, stream },
            module,
            _context: context,
        })
    }

    /// Another queue.
    pub(crate) fn new_stream(&self) -> Result<CudaStream, Error> {
        let stream = self.check("making a stream", Stream::new(StreamFlags::DEFAULT, None))?;
        let number = self.streams.replace(self.streams.get() + 1);
        Ok(CudaStream { number, stream })
    }

    /// Queues a launch.
    #[allow(unsafe_code)]
    pub(crate) fn launch<K: Kernel>(
        &self,
        stream: &CudaStream,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<(), Error> {
        config.check().map_err(|error| Error::Limit { kernel: K::NAME, error })?;
        let raw = RawParameters::of::<K, DeviceMemory>(kernel, arguments);
        let mut raw = raw.map_err(|error| Error::Argument { kernel: K::NAME, error })?;
        let function = self.function(K::NAME, raw.len())?;
        let mut pointers: Vec<*mut c_void> = raw.pointers();
        let LaunchConfig { grid, block, dynamic_shared_bytes } = config;
        // SAFETY: the function belongs to this GPU's module, which the stream's context loaded. Its parameters are
        // those of K, as many as the PTX says; the addresses in them are those of buffers in this GPU's memory, which
        // the kernel checks its indices against. The driver copies the parameters before it returns.
        let result = unsafe {
            sys::cuLaunchKernel(
                function,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                dynamic_shared_bytes,
                stream.stream.as_inner(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        let launch = Launch { kernel: K::NAME, config, times: 1 };
        succeed(result).map_err(|error| {
            let earlier = self.queue.borrow_mut().failure(&error);
            earlier.unwrap_or(Error::Launch { launch, error })
        })?;
        self.queue.borrow_mut().push(stream.number, launch);
        if self.blocking { self.synchronize() } else { Ok(()) }
    }

    /// Waits for everything in all streams.
    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        self.check("waiting for the GPU", CurrentContext::synchronize())?;
        self.queue.borrow_mut().all_done();
        Ok(())
    }

    /// Waits for everything in `stream`.
    pub(crate) fn synchronize_stream(&self, stream: &CudaStream) -> Result<(), Error> {
        self.check("waiting for a stream", stream.stream.synchronize())?;
        self.queue.borrow_mut().done(stream.number);
        Ok(())
    }

    /// Runs `work` between two events; their distance in seconds.
    pub(crate) fn time<R>(&self, work: impl FnOnce() -> Result<R, Error>) -> Result<(R, f64), Error> {
        let event = || self.check("making an event", Event::new(EventFlags::DEFAULT));
        let (start, end) = (event()?, event()?);
        self.check("recording an event", start.record(&self.stream.stream))?;
        let result = work()?;
        self.check("recording an event", end.record(&self.stream.stream))?;
        self.synchronize_stream(&self.stream)?;
        let milliseconds = self.check("comparing two events", end.elapsed_time_f32(&start))?;
        Ok((result, f64::from(milliseconds) / 1e3))
    }

    /// An error of the driver becomes that of the launches that caused it, or else of `operation`.
    fn check<T>(&self, operation: &'static str, result: Result<T, impl Into<DriverError>>) -> Result<T, Error> {
        result.map_err(|error| {
            let error = error.into();
            let earlier = self.queue.borrow_mut().failure(&error);
            earlier.unwrap_or(Error::Driver { operation, error })
        })
    }

    /// The kernel of this name, which takes so many parameters.
    fn function(&self, kernel: &'static str, parameters: usize) -> Result<sys::CUfunction, Error> {
        let found = self.check("looking for a kernel", self.module.function(kernel))?;
        let function = found.ok_or(Error::NoSuchKernel { kernel })?;
        if function.parameters != parameters {
            return Err(Error::Parameters { kernel, in_ptx: function.parameters, in_program: parameters });
        }
        Ok(function.handle)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // The module must not go while a kernel of it runs. A failure has nobody left who could be told.
        let _ = CurrentContext::synchronize();
    }
}

fn compute_capability(device: Device) -> Result<(u32, u32), OpenError> {
    let ask = |attribute| {
        let value = device.get_attribute(attribute).map_err(OpenError::driver("asking for the compute capability"))?;
        Ok::<u32, OpenError>(value.unsigned_abs())
    };
    Ok((ask(DeviceAttribute::ComputeCapabilityMajor)?, ask(DeviceAttribute::ComputeCapabilityMinor)?))
}

/// A result of `cust::sys`, for the functions that cust does not wrap.
#[allow(unsafe_code)]
fn succeed(result: CUresult) -> Result<(), DriverError> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text = c"".as_ptr();
    // SAFETY: `text` is a place for a pointer. The function is that of `cuda_driver`, which always puts a C string there.
    let text = unsafe {
        let _ = sys::cuGetErrorString(result, &raw mut text);
        CStr::from_ptr(text)
    };
    Err(DriverError { code: result as u32, text: text.to_string_lossy().into_owned() })
}
