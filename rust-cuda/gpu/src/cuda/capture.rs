//! Captures launches from a stream into a graph and replays it.

use std::ptr;

use cust::sys::{self, CUstream, CUstreamCaptureMode};

use super::context::Cuda;
use super::graph::{ExecutableGraph, Graph};
use super::launch::CudaLaunch;
use super::status::succeed;
use crate::{DriverError, Error, Launch};

/// Maximum number of executable graphs kept alive because they may still be running.
const MAX_KEPT_GRAPHS: usize = 16;

impl Cuda {
    /// Captures launches into a graph and queues it `times` times. If each launch synchronizes,
    /// nothing can be captured, and the launches are queued one by one.
    ///
    /// Their kernels must already be loaded, because the driver may reject loading a module during
    /// a capture.
    pub(crate) fn replay(&self, times: usize, launches: &mut [CudaLaunch]) -> Result<(), Error> {
        // The recording may have opened another GPU.
        self.enter()?;
        if self.blocking {
            return (0..times).try_for_each(|_| launches.iter_mut().try_for_each(|launch| self.queue(launch)));
        }
        if launches.is_empty() {
            return Ok(());
        }
        let executable = match self.capture(launches) {
            // The driver may not support dependent launches, or graphs with them.
            Err(_) if self.has_dependent_launches.replace(false) => self.capture(launches),
            executable => executable,
        }?;
        let launches: Vec<Launch> = launches.iter().map(|launch| launch.launch).collect();
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
        outcome.map_err(|error| self.replay_failed("repeating", &launches, error))
    }

    /// The executable graph for the launches.
    fn capture(&self, launches: &mut [CudaLaunch]) -> Result<ExecutableGraph, Error> {
        let capture = Capture::begin(self)?;
        launches.iter_mut().try_for_each(|launch| self.submit(capture.stream, launch))?;
        let launches: Vec<Launch> = launches.iter().map(|launch| launch.launch).collect();
        let graph = capture.end().map_err(|error| self.replay_failed("recording", &launches, error))?;
        graph.instantiate().map_err(|error| self.replay_failed("preparing", &launches, error))
    }

    fn replay_failed(&self, operation: &'static str, launches: &[Launch], error: DriverError) -> Error {
        let earlier = self.queue.borrow_mut().failure(&error);
        earlier.unwrap_or_else(|| Error::Replay { operation, launches: with_counts(launches), error })
    }
}

/// The distinct launches, each with its number of repetitions.
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

/// A stream in capture mode: launches are recorded and not run.
///
/// It is a separate, non-blocking stream. A blocking stream, such as cust's default, synchronizes
/// with the legacy default stream: during its capture, a copy on any other thread would fail, and
/// tests in one program run on several threads.
#[derive(Debug)]
struct Capture {
    stream: CUstream,
}

impl Capture {
    #[allow(unsafe_code)]
    fn begin(cuda: &Cuda) -> Result<Self, Error> {
        const NON_BLOCKING: u32 = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        let mut stream = ptr::null_mut();
        // SAFETY: `stream` is a valid out-pointer; the context is current.
        let made = succeed(unsafe { sys::cuStreamCreateWithPriority(&raw mut stream, NON_BLOCKING, 0) });
        cuda.check("making a stream", made)?;
        // Relaxed: `recording` rejects other calls on this thread, and other threads may continue.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream was created above and is empty.
        let begun = succeed(unsafe { sys::cuStreamBeginCapture_v2(stream, mode) });
        if begun.is_err() {
            destroy_stream(stream);
        }
        cuda.check("beginning to record launches", begun)?;
        Ok(Self { stream })
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

impl Drop for Capture {
    fn drop(&mut self) {
        if !self.stream.is_null() {
            // A launch could not be captured, and its error is the one to report. The graph is
            // discarded.
            let _ = self.end_now();
        }
    }
}

#[allow(unsafe_code)]
fn destroy_stream(stream: CUstream) {
    // SAFETY: `Capture::begin` created it, and the capture that used it has ended. A failure cannot
    // be handled.
    let _ = unsafe { sys::cuStreamDestroy_v2(stream) };
}
