//! A GPU, through cust.
//!
//! Everything here happens on the thread that opened the GPU, where its context is current: a [`Cuda`] is shared by
//! `Rc`, and so are its buffers and streams. The context is the GPU's primary one, so it is the same for all who open it.

mod graph;
mod launch;
mod memory;
mod module;
mod properties;
mod queue;

use std::cell::{Cell, RefCell};
use std::ffi::CStr;

use cust::context::{Context, CurrentContext};
use cust::device::Device;
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUresult};

use crate::{DriverError, Error, OpenError, PtxVariant};
pub(crate) use graph::Capture;
pub(crate) use memory::{CudaBuffer, CudaPinned};
use module::Module;
use properties::Properties;
use queue::Queue;

/// A GPU with its context and its kernels.
#[derive(Debug)]
pub(crate) struct Cuda {
    pub(crate) properties: Properties,
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
        let properties = Properties::of(device)?;
        let compute_capability = properties.compute_capability;
        let Some(variant) = crate::ptx::choose(variants, compute_capability) else {
            let variants = variants.iter().map(|variant| variant.compute_capability).collect();
            return Err(OpenError::NoPtxVariant { device: properties.name, compute_capability, variants });
        };
        let context = Context::new(device).map_err(OpenError::driver("making a context"))?;
        // `new` has done that too, and said nothing if it failed.
        CurrentContext::set_current(&context).map_err(OpenError::driver("entering the context"))?;
        let module = Module::load(variant, &properties.name)?;
        let stream = Stream::new(StreamFlags::DEFAULT, None).map_err(OpenError::driver("making a stream"))?;
        Ok(Self {
            properties,
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
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // The module must not go while a kernel of it runs. A failure has nobody left who could be told.
        let _ = CurrentContext::synchronize();
    }
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
