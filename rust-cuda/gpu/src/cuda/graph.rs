//! CUDA graphs, which replay captured launches.

use std::ptr;

use cust::sys::{self, CUstream};

use super::status::succeed;
use crate::DriverError;

/// A captured graph; null if the capture failed.
pub(super) struct Graph(sys::CUgraph);

impl Graph {
    /// Ends a stream's capture and returns the graph of its launches.
    ///
    /// # Safety
    /// The stream must be in capture mode.
    #[allow(unsafe_code)]
    pub(super) unsafe fn end_capture(stream: CUstream) -> Result<Self, DriverError> {
        let mut graph = Self(ptr::null_mut());
        // SAFETY: the caller promises the capture. `graph` is a valid out-pointer, which stays null
        // on failure.
        succeed(unsafe { sys::cuStreamEndCapture(stream, &raw mut graph.0) })?;
        Ok(graph)
    }

    /// Instantiates the graph.
    #[allow(unsafe_code)]
    pub(super) fn instantiate(self) -> Result<ExecutableGraph, DriverError> {
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
    pub(super) fn launch(&self, stream: CUstream) -> Result<(), DriverError> {
        // SAFETY: graph and stream belong to the current context. The kernels' parameters were
        // checked when they were captured. Their memory is freed after this call at the earliest,
        // and freeing waits for the kernels.
        succeed(unsafe { sys::cuGraphLaunch(self.0, stream) })
    }
}

impl Drop for ExecutableGraph {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: `Graph::instantiate` created it, and its launches have run: the queue keeps it
        // until then.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}
