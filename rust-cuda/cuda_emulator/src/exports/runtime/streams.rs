//! Streams, captures and events.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::Out;
use crate::driver::{event, stream};
use crate::exports::export;
use crate::handles::Handle;
use crate::runtime::version;

export! {
    through super::bound;
    fn cudaStreamCreate(stream: Out<Handle>) => stream::create(stream, 0, 0);
    fn cudaStreamCreateWithFlags(stream: Out<Handle>, flags: c_uint) => stream::create(stream, flags, 0);
    fn cudaStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int) =>
        stream::create(stream, flags, priority);
    fn cudaStreamDestroy(stream: Handle) => stream::destroy(stream);
    fn cudaStreamSynchronize[cudaStreamSynchronize_ptsz](stream: Handle) => stream::synchronise(stream);
    fn cudaStreamQuery[cudaStreamQuery_ptsz](stream: Handle) => stream::query(stream);
    fn cudaStreamWaitEvent[cudaStreamWaitEvent_ptsz](stream: Handle, event: Handle, _flags: c_uint) =>
        stream::wait(stream, event);
    fn cudaStreamGetPriority[cudaStreamGetPriority_ptsz](stream: Handle, priority: Out<c_int>) =>
        stream::priority(stream, priority);
    fn cudaStreamGetFlags[cudaStreamGetFlags_ptsz](stream: Handle, flags: Out<c_uint>) => stream::flags(stream, flags);
    fn cudaStreamGetId[cudaStreamGetId_ptsz](stream: Handle, id: Out<u64>) => stream::id(stream, id);
    fn cudaStreamGetDevice[cudaStreamGetDevice_ptsz](stream: Handle, ordinal: Out<c_int>) =>
        stream::device(stream, ordinal);
    fn cudaStreamBeginCapture[cudaStreamBeginCapture_ptsz](stream: Handle, mode: c_int) =>
        stream::begin_capture(stream, mode);
    fn cudaStreamEndCapture[cudaStreamEndCapture_ptsz](stream: Handle, graph: Out<Handle>) =>
        stream::end_capture(stream, graph);
    fn cudaStreamIsCapturing[cudaStreamIsCapturing_ptsz](stream: Handle, status: Out<c_int>) =>
        stream::capture_status(stream, status);
    fn cudaStreamGetCaptureInfo[cudaStreamGetCaptureInfo_ptsz](
        stream: Handle, status: Out<c_int>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const c_void>,
        edges: Out<*const c_void>, count: Out<usize>,
    ) => {
        // In CUDA 12, the function of this name has only the first three parameters.
        if version::is_twelve() {
            return stream::capture_info(stream, status, id);
        }
        edges.set_if_wanted(std::ptr::null());
        stream::capture_graph(stream, (status, id), (graph, nodes, count))
    };
    fn cudaStreamGetCaptureInfo_v3[cudaStreamGetCaptureInfo_v3_ptsz](
        stream: Handle, status: Out<c_int>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const c_void>,
        edges: Out<*const c_void>, count: Out<usize>,
    ) => {
        edges.set_if_wanted(std::ptr::null());
        stream::capture_graph(stream, (status, id), (graph, nodes, count))
    };
    fn cudaStreamGetCaptureInfo_v2[cudaStreamGetCaptureInfo_v2_ptsz](
        stream: Handle, status: Out<c_int>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const c_void>,
        count: Out<usize>,
    ) => stream::capture_graph(stream, (status, id), (graph, nodes, count));
    fn cudaThreadExchangeStreamCaptureMode(mode: Out<c_int>) => stream::exchange_mode(mode);

    fn cudaEventCreate(event: Out<Handle>) => event::create(event, 0);
    fn cudaEventCreateWithFlags(event: Out<Handle>, flags: c_uint) => event::create(event, flags);
    fn cudaEventDestroy(event: Handle) => event::destroy(event);
    fn cudaEventRecord[cudaEventRecord_ptsz](event: Handle, stream: Handle) => event::record(event, stream);
    fn cudaEventRecordWithFlags[cudaEventRecordWithFlags_ptsz](event: Handle, stream: Handle, _flags: c_uint) =>
        event::record(event, stream);
    fn cudaEventQuery(event: Handle) => event::query(event);
    fn cudaEventSynchronize(event: Handle) => event::synchronise(event);
    fn cudaEventElapsedTime[cudaEventElapsedTime_v2](milliseconds: Out<f32>, start: Handle, end: Handle) =>
        event::elapsed(milliseconds, start, end);
}
