//! Launches captured from a stream into a graph, which is replayed.

use std::cell::RefCell;
use std::ptr;

use cust::sys::{self, CUstream, CUstreamCaptureMode};

use super::context::Cuda;
use super::graph::Graph;
use super::status::succeed;
use crate::erased::AnyLaunch;
use crate::{DriverError, Error, Launch};

/// Max. number of executable graphs kept alive because they may still run.
const MAX_KEPT_GRAPHS: usize = 16;

impl Cuda {
    /// Whether each launch synchronises, so that none can be captured.
    pub(crate) fn is_blocking(&self) -> bool {
        self.blocking
    }

    /// Captures the launches of `record` into a graph and queues it `times` times.
    ///
    /// No module is loaded during a capture, since the driver may refuse that: at a kernel that is not loaded yet the capture
    /// ends, and `record` runs again after the kernel was loaded.
    pub(crate) fn replay(
        &self,
        times: usize,
        record: &mut dyn FnMut(&Capture<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.enter()?;
        let (launches, capture) = loop {
            let capture = Capture::begin(self)?;
            let recorded = record(&capture);
            let launches = capture.launches.take();
            // The recording may have opened another GPU.
            self.enter()?;
            if let Some(kernel) = self.unloaded.take() {
                drop(capture);
                self.function(kernel)?;
                continue;
            }
            match recorded {
                // The driver may lack dependent launches.
                Err(Error::Launch { .. }) if self.has_dependent_launches.replace(false) => continue,
                recorded => recorded?,
            }
            break (launches, capture);
        };
        let failed = |operation| {
            let launches = &launches;
            move |error: DriverError| {
                let earlier = self.queue.borrow_mut().failure(&error);
                earlier.unwrap_or_else(|| Error::Replay { operation, launches: with_counts(launches), error })
            }
        };
        let graph = capture.end().map_err(failed("recording"));
        if launches.is_empty() {
            return graph.map(drop);
        }
        let executable = match graph.and_then(|graph| graph.instantiate().map_err(failed("preparing"))) {
            // The driver may lack graphs of dependent launches.
            Err(_) if self.has_dependent_launches.replace(false) => return self.replay(times, record),
            executable => executable?,
        };
        if self.queue.borrow().kept_graphs() == MAX_KEPT_GRAPHS {
            self.synchronize()?;
        }
        let stream = self.stream.as_inner();
        let mut outcome = Ok(());
        let queued = (0..times).take_while(|_| {
            outcome = executable.launch(stream);
            outcome.is_ok()
        });
        let queued = queued.count() as u64;
        if queued > 0 {
            let mut queue = self.queue.borrow_mut();
            launches.iter().for_each(|launch| queue.push(Launch { times: queued, ..*launch }));
            queue.keep(executable);
        }
        outcome.map_err(failed("repeating"))
    }
}

/// The distinct launches, each with the number of its repetitions.
fn with_counts(launches: &[Launch]) -> Vec<Launch> {
    let mut counted: Vec<Launch> = Vec::new();
    for launch in launches {
        match counted.iter_mut().find(|known| known.kernel == launch.kernel && known.config == launch.config) {
            Some(known) => known.times += launch.times,
            None => counted.push(*launch),
        }
    }
    counted
}

/// A stream in capture mode: its launches are recorded, not run.
///
/// It is a separate, non-blocking stream. A blocking stream, such as cust's default, synchronises with the legacy
/// default stream: while it is captured, a copy on any other thread would fail, and tests of one program run on several
/// threads.
#[derive(Debug)]
pub(crate) struct Capture<'a> {
    cuda: &'a Cuda,
    stream: CUstream,
    /// The launches captured so far.
    launches: RefCell<Vec<Launch>>,
}

impl<'a> Capture<'a> {
    #[allow(unsafe_code)]
    fn begin(cuda: &'a Cuda) -> Result<Self, Error> {
        const NON_BLOCKING: u32 = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        let mut stream = ptr::null_mut();
        // SAFETY: `stream` is a valid out-pointer; the context is current.
        let made = succeed(unsafe { sys::cuStreamCreateWithPriority(&raw mut stream, NON_BLOCKING, 0) });
        cuda.check("making a stream", made)?;
        // Relaxed: `recording` rejects other calls of this thread, and other threads may continue.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream was created above and is empty.
        let begun = succeed(unsafe { sys::cuStreamBeginCapture_v2(stream, mode) });
        if begun.is_err() {
            destroy_stream(stream);
        }
        cuda.check("beginning to record launches", begun)?;
        Ok(Self { cuda, stream, launches: RefCell::default() })
    }

    /// Captures a launch.
    pub(crate) fn launch(&self, launch: &mut dyn AnyLaunch) -> Result<(), Error> {
        let kernel = launch.kernel();
        if self.cuda.modules.loaded(kernel).is_none() {
            self.cuda.unloaded.set(Some(kernel));
            return Err(Error::Recording { operation: "loading a kernel" });
        }
        let launch = self.cuda.submit(self.stream, launch)?;
        self.launches.borrow_mut().push(launch);
        Ok(())
    }

    /// Ends the capture and returns its graph.
    fn end(mut self) -> Result<Graph, DriverError> {
        self.end_now()
    }

    /// Ends the capture. `self.stream` must not be null, and is null afterwards.
    #[allow(unsafe_code)]
    fn end_now(&mut self) -> Result<Graph, DriverError> {
        let stream = std::mem::replace(&mut self.stream, ptr::null_mut());
        // SAFETY: `begin` began the capture of this stream, and only this call ends it.
        let graph = unsafe { Graph::end_capture(stream) };
        destroy_stream(stream);
        graph
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if !self.stream.is_null() {
            // The recording closure failed or panicked, and its error is the one to report. The graph is discarded.
            let _ = self.end_now();
        }
    }
}

#[allow(unsafe_code)]
fn destroy_stream(stream: CUstream) {
    // SAFETY: `Capture::begin` created it, and the capture that used it has ended. A failure cannot be handled.
    let _ = unsafe { sys::cuStreamDestroy_v2(stream) };
}
