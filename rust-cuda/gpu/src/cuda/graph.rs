//! CUDA graphs: launches captured from a stream and replayed.

use std::ptr;

use cuda_std::{Kernel, LaunchConfig};
use cust::sys::{self, CUstream, CUstreamCaptureMode};

use super::{Cuda, succeed};
use crate::{DeviceMemory, DriverError, Error, Launch, Recorder};

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
        record: &mut dyn FnMut(&Recorder<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.enter()?;
        let (launches, capture) = loop {
            let capture = Capture::begin(self)?;
            let recorder = Recorder::into_graph(&capture);
            let recorded = record(&recorder);
            let launches = recorder.into_launches();
            // The recording may have opened another GPU.
            self.enter()?;
            let Some(kernel) = self.unloaded.take() else {
                recorded?;
                break (launches, capture);
            };
            drop(capture);
            self.function(kernel)?;
        };
        let failed = |operation| {
            let launches = &launches;
            move |error: DriverError| {
                let earlier = self.queue.borrow_mut().failure(&error);
                earlier.unwrap_or_else(|| Error::Replay { operation, launches: with_counts(launches), error })
            }
        };
        let graph = capture.end().map_err(failed("recording"))?;
        if launches.is_empty() {
            return Ok(());
        }
        let executable = graph.instantiate().map_err(failed("preparing"))?;
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
        Ok(Self { cuda, stream })
    }

    /// Captures a launch.
    pub(crate) fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<Launch, Error> {
        if self.cuda.modules.loaded(K::NAME).is_none() {
            self.cuda.unloaded.set(Some(K::NAME));
            return Err(Error::Recording { operation: "loading a kernel" });
        }
        self.cuda.submit(self.stream, kernel, config, arguments)
    }

    /// Ends the capture and returns its graph.
    fn end(mut self) -> Result<Graph, DriverError> {
        self.end_now()
    }

    /// Ends the capture. `self.stream` must not be null, and is null afterwards.
    #[allow(unsafe_code)]
    fn end_now(&mut self) -> Result<Graph, DriverError> {
        let stream = std::mem::replace(&mut self.stream, ptr::null_mut());
        let mut graph = Graph(ptr::null_mut());
        // SAFETY: `begin` began the capture of this stream, and only this call ends it. `graph` is a valid out-pointer,
        // which stays null if the capture has failed.
        let ended = succeed(unsafe { sys::cuStreamEndCapture(stream, &raw mut graph.0) });
        destroy_stream(stream);
        ended.map(|()| graph)
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

/// A captured graph; null if the capture failed.
struct Graph(sys::CUgraph);

impl Graph {
    #[allow(unsafe_code)]
    fn instantiate(self) -> Result<ExecutableGraph, DriverError> {
        let mut executable = ptr::null_mut();
        // SAFETY: the graph is valid, and `executable` is a valid out-pointer. The pointers for an error node and a log
        // may be null.
        let result =
            unsafe { sys::cuGraphInstantiate_v2(&raw mut executable, self.0, ptr::null_mut(), ptr::null_mut(), 0) };
        succeed(result)?;
        Ok(ExecutableGraph(executable))
    }
}

impl Drop for Graph {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the driver created it, and its executable graph does not depend on it.
            let _ = unsafe { sys::cuGraphDestroy(self.0) };
        }
    }
}

/// An executable graph. It must not be dropped before its launches have run.
#[derive(Debug)]
pub(super) struct ExecutableGraph(sys::CUgraphExec);

impl ExecutableGraph {
    /// Queues one launch of the graph.
    #[allow(unsafe_code)]
    fn launch(&self, stream: CUstream) -> Result<(), DriverError> {
        // SAFETY: graph and stream belong to the current context. The kernels' parameters were checked when they were
        // captured. Their memory is freed after this call at the earliest, and freeing waits for the kernels.
        succeed(unsafe { sys::cuGraphLaunch(self.0, stream) })
    }
}

impl Drop for ExecutableGraph {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: `Graph::instantiate` created it, and its launches have run: the queue keeps it until then.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}
