//! Streams, events and graphs.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::export;
use crate::abi::{
    AllocateNode, Copy3D, FillNode, HostAddress, HostNode, In, InstantiateParameters, KernelNode, KernelShape, Out,
    RawHostFunction, UpdateResult,
};
use crate::driver::graph_nodes::Dependencies;
use crate::driver::{event, graph, graph_memory, graph_nodes, graph_queries, graph_update, memory, object, stream};
use crate::error::Error;
use crate::handles::Handle;

export! {
    fn cuStreamCreate(stream: Out<Handle>, flags: c_uint) => stream::create(stream, flags, 0);
    fn cuStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int) =>
        stream::create(stream, flags, priority);
    fn cuStreamDestroy_v2[cuStreamDestroy](stream: Handle) => stream::destroy(stream);
    fn cuStreamSynchronize[cuStreamSynchronize_ptsz](stream: Handle) => stream::synchronise(stream);
    fn cuStreamQuery[cuStreamQuery_ptsz](stream: Handle) => stream::query(stream);
    fn cuStreamWaitEvent[cuStreamWaitEvent_ptsz](stream: Handle, event: Handle, _flags: c_uint) =>
        stream::wait(stream, event);
    fn cuStreamGetPriority[cuStreamGetPriority_ptsz](stream: Handle, priority: Out<c_int>) =>
        stream::priority(stream, priority);
    fn cuStreamGetFlags[cuStreamGetFlags_ptsz](stream: Handle, flags: Out<c_uint>) => stream::flags(stream, flags);
    fn cuStreamGetId[cuStreamGetId_ptsz](stream: Handle, id: Out<u64>) => stream::id(stream, id);
    fn cuStreamGetCtx[cuStreamGetCtx_ptsz](stream: Handle, context: Out<Handle>) => stream::context(stream, context);
    fn cuStreamGetCtx_v2[cuStreamGetCtx_v2_ptsz](stream: Handle, context: Out<Handle>, green: Out<Handle>) => {
        green.set_if_wanted(0);
        stream::context(stream, context)
    };
    fn cuStreamGetDevice[cuStreamGetDevice_ptsz](stream: Handle, device: Out<c_int>) => stream::device(stream, device);
    fn cuStreamBeginCapture_v2[cuStreamBeginCapture_v2_ptsz](stream: Handle, mode: c_int) =>
        stream::begin_capture(stream, mode);
    fn cuStreamBeginCapture[cuStreamBeginCapture_ptsz](stream: Handle) => stream::begin_capture(stream, 0);
    fn cuStreamEndCapture[cuStreamEndCapture_ptsz](stream: Handle, graph: Out<Handle>) =>
        stream::end_capture(stream, graph);
    fn cuStreamIsCapturing[cuStreamIsCapturing_ptsz](stream: Handle, status: Out<c_int>) =>
        stream::capture_status(stream, status);
    fn cuStreamGetCaptureInfo[cuStreamGetCaptureInfo_ptsz](stream: Handle, status: Out<c_int>, id: Out<u64>) =>
        stream::capture_info(stream, status, id);
    fn cuStreamGetCaptureInfo_v2[cuStreamGetCaptureInfo_v2_ptsz](
        stream: Handle, status: Out<c_int>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const c_void>,
        count: Out<usize>,
    ) => stream::capture_graph(stream, (status, id), (graph, nodes, count));
    fn cuStreamGetCaptureInfo_v3[cuStreamGetCaptureInfo_v3_ptsz](
        stream: Handle, status: Out<c_int>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const c_void>,
        edges: Out<*const c_void>, count: Out<usize>,
    ) => {
        edges.set_if_wanted(std::ptr::null());
        stream::capture_graph(stream, (status, id), (graph, nodes, count))
    };
    fn cuThreadExchangeStreamCaptureMode(mode: Out<c_int>) => stream::exchange_mode(mode);

    fn cuEventCreate(event: Out<Handle>, flags: c_uint) => event::create(event, flags);
    fn cuEventDestroy_v2[cuEventDestroy](event: Handle) => event::destroy(event);
    fn cuEventRecord[cuEventRecord_ptsz](event: Handle, stream: Handle) => event::record(event, stream);
    fn cuEventRecordWithFlags[cuEventRecordWithFlags_ptsz](event: Handle, stream: Handle, _flags: c_uint) =>
        event::record(event, stream);
    fn cuEventQuery(event: Handle) => event::query(event);
    fn cuEventSynchronize(event: Handle) => event::synchronise(event);
    fn cuEventElapsedTime[cuEventElapsedTime_v2](milliseconds: Out<f32>, start: Handle, end: Handle) =>
        event::elapsed(milliseconds, start, end);

    fn cuGraphCreate(graph: Out<Handle>, flags: c_uint) => graph::create(graph, flags);
    fn cuGraphAddEmptyNode(node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize) =>
        graph_nodes::add_empty(node, graph, Dependencies { nodes, count });
    fn cuGraphAddHostNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, parameters: In<HostNode>,
    ) => graph_nodes::add_host(node, graph, Dependencies { nodes, count }, parameters);
    fn cuGraphAddKernelNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, parameters: In<KernelShape>,
    ) => graph_nodes::add_kernel(node, graph, Dependencies { nodes, count }, parameters.get()?, (0, 0));
    fn cuGraphAddKernelNode_v2(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, parameters: In<KernelNode>,
    ) => {
        let KernelNode { shape, kernel, context } = parameters.get()?;
        graph_nodes::add_kernel(node, graph, Dependencies { nodes, count }, shape, (kernel, context))
    };
    fn cuGraphAddMemcpyNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, copy: In<Copy3D>, _context: Handle,
    ) => graph_nodes::add_work(node, graph, Dependencies { nodes, count }, memory::copy_node(copy.get()?)?);
    fn cuGraphAddMemsetNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, fill: In<FillNode>, _context: Handle,
    ) => graph_nodes::add_work(node, graph, Dependencies { nodes, count }, memory::fill_node(fill)?);
    fn cuGraphAddMemAllocNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, parameters: Out<AllocateNode>,
    ) => graph_memory::add_allocation(node, graph, Dependencies { nodes, count }, parameters);
    fn cuGraphAddMemFreeNode(node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, address: u64) =>
        graph_memory::add_free(node, graph, Dependencies { nodes, count }, address);
    fn cuGraphMemAllocNodeGetParams(node: Handle, parameters: Out<AllocateNode>) =>
        parameters.set(graph_update::allocate_node(node)?);
    fn cuGraphMemFreeNodeGetParams(node: Handle, address: Out<u64>) => address.set(graph_update::free_node(node)?);
    fn cuDeviceGetGraphMemAttribute(device: c_int, attribute: c_int, value: Out<u64>) =>
        graph_memory::attribute(device, attribute, value);
    fn cuDeviceSetGraphMemAttribute(device: c_int, attribute: c_int, value: In<u64>) =>
        graph_memory::set_attribute(device, attribute, value.get()?);
    fn cuDeviceGraphMemTrim(device: c_int) => graph_memory::trim(device);
    fn cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) =>
        graph_nodes::add_dependencies(graph, from, to, count);
    fn cuGraphAddDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _edges: HostAddress, count: usize,
    ) => graph_nodes::add_dependencies(graph, from, to, count);
    fn cuGraphClone(copy: Out<Handle>, graph: Handle) => graph::copy(copy, graph);
    fn cuGraphDestroy(graph: Handle) => graph::destroy(graph);
    fn cuGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, flags: u64) =>
        graph::instantiate(executable, graph, flags);
    fn cuGraphInstantiate[cuGraphInstantiate_v2](
        executable: Out<Handle>, graph: Handle, error_node: Out<Handle>, _log: Out<c_char>, _bytes: usize,
    ) => {
        error_node.set_if_wanted(0);
        graph::instantiate(executable, graph, 0)
    };
    fn cuGraphInstantiateWithParams[cuGraphInstantiateWithParams_ptsz](
        executable: Out<Handle>, graph: Handle, parameters: Out<InstantiateParameters>,
    ) => graph::instantiate_with(executable, graph, parameters);
    fn cuGraphExecGetFlags(executable: Handle, flags: Out<u64>) => graph::flags(executable, flags);
    fn cuGraphExecDestroy(executable: Handle) => graph::destroy_executable(executable);
    fn cuGraphLaunch[cuGraphLaunch_ptsz](executable: Handle, stream: Handle) => graph::launch(executable, stream);
    fn cuUserObjectCreate(
        object: Out<Handle>, pointer: HostAddress, destroy: RawHostFunction, references: c_uint, flags: c_uint,
    ) => object::create(object, pointer, destroy, references, flags);
    fn cuUserObjectRetain(object: Handle, count: c_uint) => object::retain(object, count);
    fn cuUserObjectRelease(object: Handle, count: c_uint) => object::release(object, count);
    fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint) =>
        object::retain_for_graph(graph, object, count, flags);
    fn cuGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint) =>
        object::release_for_graph(graph, object, count);
    fn cuGraphUpload[cuGraphUpload_ptsz](executable: Handle, stream: Handle) => graph::upload(executable, stream);
    fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) => graph_queries::nodes(graph, nodes, count);
    fn cuGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) =>
        graph_queries::roots(graph, nodes, count);
    fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) =>
        graph_queries::edges(graph, from, to, HostAddress(0), count);
    fn cuGraphGetEdges_v2(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, edges: HostAddress, count: Out<usize>,
    ) => graph_queries::edges(graph, from, to, edges, count);
    fn cuGraphNodeGetDependencies(node: Handle, nodes: Out<Handle>, count: Out<usize>) =>
        graph_queries::dependencies(node, nodes, HostAddress(0), count);
    fn cuGraphNodeGetDependencies_v2(node: Handle, nodes: Out<Handle>, edges: HostAddress, count: Out<usize>) =>
        graph_queries::dependencies(node, nodes, edges, count);
    fn cuGraphNodeGetDependentNodes(node: Handle, nodes: Out<Handle>, count: Out<usize>) =>
        graph_queries::dependents(node, nodes, HostAddress(0), count);
    fn cuGraphNodeGetDependentNodes_v2(node: Handle, nodes: Out<Handle>, edges: HostAddress, count: Out<usize>) =>
        graph_queries::dependents(node, nodes, edges, count);
    fn cuGraphNodeGetType(node: Handle, kind: Out<c_int>) => graph::node_type(node, kind);
    fn cuGraphKernelNodeGetParams(node: Handle, parameters: Out<KernelShape>) =>
        parameters.set(graph_update::kernel_node(node)?.shape);
    fn cuGraphKernelNodeGetParams_v2(node: Handle, parameters: Out<KernelNode>) =>
        parameters.set(graph_update::kernel_node(node)?);
    fn cuGraphKernelNodeSetParams(node: Handle, parameters: In<KernelShape>) =>
        graph_update::set_kernel(None, node, parameters.get()?, (0, 0));
    fn cuGraphKernelNodeSetParams_v2(node: Handle, parameters: In<KernelNode>) => {
        let KernelNode { shape, kernel, context } = parameters.get()?;
        graph_update::set_kernel(None, node, shape, (kernel, context))
    };
    fn cuGraphMemcpyNodeGetParams(node: Handle, copy: Out<Copy3D>) => copy.set(graph_update::copy_node(node)?);
    fn cuGraphMemcpyNodeSetParams(node: Handle, copy: In<Copy3D>) =>
        graph_update::set_copy(None, node, memory::copy_node(copy.get()?)?);
    fn cuGraphMemsetNodeGetParams(node: Handle, fill: Out<FillNode>) => fill.set(graph_update::fill_node(node)?);
    fn cuGraphMemsetNodeSetParams(node: Handle, fill: In<FillNode>) =>
        graph_update::set_fill(None, node, memory::fill_node(fill)?);
    fn cuGraphHostNodeGetParams(node: Handle, parameters: Out<HostNode>) => parameters.set(graph_update::host_node(node)?);
    fn cuGraphHostNodeSetParams(node: Handle, parameters: In<HostNode>) =>
        graph_update::set_host(None, node, parameters);
    fn cuGraphExecKernelNodeSetParams(executable: Handle, node: Handle, parameters: In<KernelShape>) =>
        graph_update::set_kernel(Some(executable), node, parameters.get()?, (0, 0));
    fn cuGraphExecKernelNodeSetParams_v2(executable: Handle, node: Handle, parameters: In<KernelNode>) => {
        let KernelNode { shape, kernel, context } = parameters.get()?;
        graph_update::set_kernel(Some(executable), node, shape, (kernel, context))
    };
    fn cuGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, copy: In<Copy3D>, _context: Handle) =>
        graph_update::set_copy(Some(executable), node, memory::copy_node(copy.get()?)?);
    fn cuGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, fill: In<FillNode>, _context: Handle) =>
        graph_update::set_fill(Some(executable), node, memory::fill_node(fill)?);
    fn cuGraphExecHostNodeSetParams(executable: Handle, node: Handle, parameters: In<HostNode>) =>
        graph_update::set_host(Some(executable), node, parameters);
    fn cuGraphExecUpdate(executable: Handle, graph: Handle, node: Out<Handle>, result: Out<c_int>) =>
        graph_update::update(executable, graph, |found| {
            node.set_if_wanted(found.node);
            result.set_if_wanted(found.result);
        });
    fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Out<UpdateResult>) => {
        if result.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        graph_update::update(executable, graph, |found| result.set_if_wanted(found))
    };
}
