//! Launches that the driver records and repeats, as a graph.

use std::ptr;

use cuda_std::{Kernel, LaunchConfig};
use cust::sys::{self, CUstream, CUstreamCaptureMode};

use super::{Cuda, succeed};
use crate::{DeviceMemory, DriverError, Error, Launch, Recorder};

/// Most graphs that are kept because they may run still.
const MOST_KEPT: usize = 16;

impl Cuda {
    /// Whether each launch is waited for, so that none can be part of a graph.
    pub(crate) fn is_blocking(&self) -> bool {
        self.blocking
    }

    /// Queues what `record` records `times` times.
    pub(crate) fn replay(
        &self,
        times: usize,
        record: &mut dyn FnMut(&Recorder<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let capture = Capture::begin(self)?;
        let recorder = Recorder::into_graph(&capture);
        record(&recorder)?;
        let launches = recorder.into_launches();
        let failed = |operation| {
            let launches = &launches;
            move |error: DriverError| {
                let earlier = self.queue.borrow_mut().failure(&error);
                earlier.unwrap_or_else(|| Error::Replay { operation, launches: alike(launches), error })
            }
        };
        let graph = capture.end().map_err(failed("recording"))?;
        if launches.is_empty() {
            return Ok(());
        }
        let executable = graph.instantiate().map_err(failed("preparing"))?;
        if self.queue.borrow().kept() == MOST_KEPT {
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

/// The launches with those counted that are alike.
fn alike(launches: &[Launch]) -> Vec<Launch> {
    let mut counted: Vec<Launch> = Vec::new();
    for launch in launches {
        match counted.iter_mut().find(|known| known.kernel == launch.kernel && known.config == launch.config) {
            Some(known) => known.times += launch.times,
            None => counted.push(*launch),
        }
    }
    counted
}

/// A stream whose launches are recorded and not run.
///
/// It is a stream of its own that waits for no other, unlike cust's: while launches of one that waits are recorded, no
/// other thread could copy, which is what the tests of a program do at the same time.
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
        // SAFETY: `stream` is a place for a stream; the context is current.
        let made = succeed(unsafe { sys::cuStreamCreateWithPriority(&raw mut stream, NON_BLOCKING, 0) });
        cuda.check("making a stream", made)?;
        // Relaxed: other calls of this thread are refused by `recording`, and other threads are free to go on.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream was made above, and nothing is in it.
        let begun = succeed(unsafe { sys::cuStreamBeginCapture_v2(stream, mode) });
        if begun.is_err() {
            destroy_stream(stream);
        }
        cuda.check("beginning to record launches", begun)?;
        Ok(Self { cuda, stream })
    }

    /// Records a launch.
    pub(crate) fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<Launch, Error> {
        self.cuda.submit(self.stream, kernel, config, arguments)
    }

    /// What was recorded.
    fn end(mut self) -> Result<Graph, DriverError> {
        self.end_now()
    }

    /// Ends the recording, if it has not ended.
    #[allow(unsafe_code)]
    fn end_now(&mut self) -> Result<Graph, DriverError> {
        let stream = std::mem::replace(&mut self.stream, ptr::null_mut());
        let mut graph = Graph(ptr::null_mut());
        // SAFETY: `begin` began to record in this stream, and only here it ends. `graph` is a place for a graph, which
        // stays empty where the recording has failed.
        let ended = succeed(unsafe { sys::cuStreamEndCapture(stream, &raw mut graph.0) });
        destroy_stream(stream);
        ended.map(|()| graph)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if !self.stream.is_null() {
            // Whoever recorded has failed, and has an error of their own; the graph goes.
            let _ = self.end_now();
        }
    }
}

#[allow(unsafe_code)]
fn destroy_stream(stream: CUstream) {
    // SAFETY: `Capture::begin` made it, and nobody uses it any more. A failure leaves nothing to be done.
    let _ = unsafe { sys::cuStreamDestroy_v2(stream) };
}

/// What was recorded.
struct Graph(sys::CUgraph);

impl Graph {
    #[allow(unsafe_code)]
    fn instantiate(self) -> Result<Executable, DriverError> {
        let mut executable = ptr::null_mut();
        // SAFETY: the graph is one, and `executable` a place for what is made of it. The driver may be asked to write no
        // node and no log.
        let result =
            unsafe { sys::cuGraphInstantiate_v2(&raw mut executable, self.0, ptr::null_mut(), ptr::null_mut(), 0) };
        succeed(result)?;
        Ok(Executable(executable))
    }
}

impl Drop for Graph {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the driver made it, and what was made of it does not need it.
            let _ = unsafe { sys::cuGraphDestroy(self.0) };
        }
    }
}

/// What was recorded, ready to run. It must not go before it has run.
#[derive(Debug)]
pub(super) struct Executable(sys::CUgraphExec);

impl Executable {
    /// Queues it once.
    #[allow(unsafe_code)]
    fn launch(&self, stream: CUstream) -> Result<(), DriverError> {
        // SAFETY: both are of the context that is current. The kernels' parameters were checked when they were recorded,
        // and the memory in them is freed after this call at the earliest, which waits for the kernels.
        succeed(unsafe { sys::cuGraphLaunch(self.0, stream) })
    }
}

impl Drop for Executable {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: `Graph::instantiate` made it. It has run: the queue keeps it until then.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}
