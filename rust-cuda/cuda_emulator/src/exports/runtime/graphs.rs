//! Graphs: their nodes and launches.

use std::ffi::{c_int, c_uint};

use crate::abi::{
    AllocateNode, FillNode, HostAddress, HostNode, In, InstantiateParameters, KernelShape, Out, RawHostFunction,
    RuntimeCopy3D, UpdateResult,
};
use crate::driver::graph_nodes::Dependencies;
use crate::driver::{graph, graph_memory, graph_nodes, graph_queries, graph_update, memory, object};
use crate::error::{Error, Result};
use crate::exports::export;
use crate::handles::Handle;
use crate::runtime::copies::in_symbol;
use crate::runtime::graphs::{box_of, copy_of_box, copy_of_bytes, kernel_node, of_driver};
use crate::runtime::version;

/// The number of nodes for functions that have an edge data parameter in front of the number since
/// CUDA 13.
fn count(edges_or_count: usize, count: usize) -> usize {
    if version::is_twelve() { edges_or_count } else { count }
}

/// Like [`count`], for functions that write both.
fn edges_and_count(edges_or_count: Out<usize>, count: Out<usize>) -> (HostAddress, Out<usize>) {
    if version::is_twelve() { (HostAddress(0), edges_or_count) } else { (edges_or_count.address(), count) }
}

/// The work of a copy node, from or to one plane.
fn copy_work(parameters: In<RuntimeCopy3D>) -> Result<memory::Copy> {
    memory::copy_node(copy_of_box(parameters.get()?)?)
}

export! {
    through super::bound;
    fn cudaGraphCreate(graph: Out<Handle>, flags: c_uint) => graph::create(graph, flags);
    fn cudaGraphDestroy(graph: Handle) => graph::destroy(graph);
    fn cudaGraphClone(copy: Out<Handle>, graph: Handle) => graph::copy(copy, graph);
    fn cudaGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) => graph_queries::nodes(graph, nodes, count);
    fn cudaGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) =>
        graph_queries::roots(graph, nodes, count);
    // In CUDA 12, these three have no edge data before the number.
    fn cudaGraphGetEdges(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, edges_or_count: Out<usize>, count: Out<usize>,
    ) => {
        let (edges, count) = edges_and_count(edges_or_count, count);
        graph_queries::edges(graph, from, to, edges, count)
    };
    fn cudaGraphGetEdges_v2(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, edges: HostAddress, count: Out<usize>,
    ) => graph_queries::edges(graph, from, to, edges, count);
    fn cudaGraphNodeGetDependencies(
        node: Handle, nodes: Out<Handle>, edges_or_count: Out<usize>, count: Out<usize>,
    ) => {
        let (edges, count) = edges_and_count(edges_or_count, count);
        graph_queries::dependencies(node, nodes, edges, count)
    };
    fn cudaGraphNodeGetDependencies_v2(node: Handle, nodes: Out<Handle>, edges: HostAddress, count: Out<usize>) =>
        graph_queries::dependencies(node, nodes, edges, count);
    fn cudaGraphNodeGetDependentNodes(
        node: Handle, nodes: Out<Handle>, edges_or_count: Out<usize>, count: Out<usize>,
    ) => {
        let (edges, count) = edges_and_count(edges_or_count, count);
        graph_queries::dependents(node, nodes, edges, count)
    };
    fn cudaGraphNodeGetDependentNodes_v2(node: Handle, nodes: Out<Handle>, edges: HostAddress, count: Out<usize>) =>
        graph_queries::dependents(node, nodes, edges, count);
    fn cudaGraphNodeGetType(node: Handle, kind: Out<c_int>) => graph::node_type(node, kind);
    fn cudaGraphAddDependencies(
        graph: Handle, from: In<Handle>, to: In<Handle>, edges_or_count: usize, edge_count: usize,
    ) => graph_nodes::add_dependencies(graph, from, to, count(edges_or_count, edge_count));
    fn cudaGraphAddDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _edges: HostAddress, count: usize,
    ) => graph_nodes::add_dependencies(graph, from, to, count);

    fn cudaGraphAddEmptyNode(node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize) =>
        graph_nodes::add_empty(node, graph, Dependencies { nodes, count });
    fn cudaGraphAddHostNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, parameters: In<HostNode>,
    ) => graph_nodes::add_host(node, graph, Dependencies { nodes, count }, parameters);
    fn cudaGraphAddKernelNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, parameters: In<KernelShape>,
    ) => graph_nodes::add_kernel(node, graph, Dependencies { nodes, count }, of_driver(parameters.get()?)?, (0, 0));
    fn cudaGraphAddMemsetNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, fill: In<FillNode>,
    ) => graph_nodes::add_work(node, graph, Dependencies { nodes, count }, memory::fill_node(fill)?);
    fn cudaGraphAddMemcpyNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, copy: In<RuntimeCopy3D>,
    ) => graph_nodes::add_work(node, graph, Dependencies { nodes, count }, copy_work(copy)?);
    fn cudaGraphAddMemcpyNode1D(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, to: u64, from: u64, bytes: usize,
        kind: c_int,
    ) => graph_nodes::add_work(node, graph, Dependencies { nodes, count }, copy_of_bytes(to, from, bytes, kind)?);
    fn cudaGraphAddMemcpyNodeToSymbol(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, symbol: HostAddress, from: u64,
        bytes: usize, offset: usize, kind: c_int,
    ) => {
        let copy = copy_of_bytes(in_symbol(symbol, offset, bytes)?, from, bytes, kind)?;
        graph_nodes::add_work(node, graph, Dependencies { nodes, count }, copy)
    };
    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, to: u64, symbol: HostAddress,
        bytes: usize, offset: usize, kind: c_int,
    ) => {
        let copy = copy_of_bytes(to, in_symbol(symbol, offset, bytes)?, bytes, kind)?;
        graph_nodes::add_work(node, graph, Dependencies { nodes, count }, copy)
    };
    fn cudaGraphAddMemAllocNode(
        node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, parameters: Out<AllocateNode>,
    ) => graph_memory::add_allocation(node, graph, Dependencies { nodes, count }, parameters);
    fn cudaGraphAddMemFreeNode(node: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, address: u64) =>
        graph_memory::add_free(node, graph, Dependencies { nodes, count }, address);

    fn cudaGraphMemAllocNodeGetParams(node: Handle, parameters: Out<AllocateNode>) =>
        parameters.set(graph_update::allocate_node(node)?);
    fn cudaGraphMemFreeNodeGetParams(node: Handle, address: Out<u64>) => address.set(graph_update::free_node(node)?);
    fn cudaGraphKernelNodeGetParams(node: Handle, parameters: Out<KernelShape>) => parameters.set(kernel_node(node)?);
    fn cudaGraphKernelNodeSetParams(node: Handle, parameters: In<KernelShape>) =>
        graph_update::set_kernel(None, node, of_driver(parameters.get()?)?, (0, 0));
    fn cudaGraphMemcpyNodeGetParams(node: Handle, copy: Out<RuntimeCopy3D>) =>
        copy.set(box_of(graph_update::copy_node(node)?)?);
    fn cudaGraphMemcpyNodeSetParams(node: Handle, copy: In<RuntimeCopy3D>) =>
        graph_update::set_copy(None, node, copy_work(copy)?);
    fn cudaGraphMemcpyNodeSetParams1D(node: Handle, to: u64, from: u64, bytes: usize, kind: c_int) =>
        graph_update::set_copy(None, node, copy_of_bytes(to, from, bytes, kind)?);
    fn cudaGraphMemsetNodeGetParams(node: Handle, fill: Out<FillNode>) => fill.set(graph_update::fill_node(node)?);
    fn cudaGraphMemsetNodeSetParams(node: Handle, fill: In<FillNode>) =>
        graph_update::set_fill(None, node, memory::fill_node(fill)?);
    fn cudaGraphHostNodeGetParams(node: Handle, parameters: Out<HostNode>) =>
        parameters.set(graph_update::host_node(node)?);
    fn cudaGraphHostNodeSetParams(node: Handle, parameters: In<HostNode>) =>
        graph_update::set_host(None, node, parameters);
    fn cudaGraphExecKernelNodeSetParams(executable: Handle, node: Handle, parameters: In<KernelShape>) =>
        graph_update::set_kernel(Some(executable), node, of_driver(parameters.get()?)?, (0, 0));
    fn cudaGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, copy: In<RuntimeCopy3D>) =>
        graph_update::set_copy(Some(executable), node, copy_work(copy)?);
    fn cudaGraphExecMemcpyNodeSetParams1D(
        executable: Handle, node: Handle, to: u64, from: u64, bytes: usize, kind: c_int,
    ) => graph_update::set_copy(Some(executable), node, copy_of_bytes(to, from, bytes, kind)?);
    fn cudaGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, fill: In<FillNode>) =>
        graph_update::set_fill(Some(executable), node, memory::fill_node(fill)?);
    fn cudaGraphExecHostNodeSetParams(executable: Handle, node: Handle, parameters: In<HostNode>) =>
        graph_update::set_host(Some(executable), node, parameters);
    fn cudaGraphExecUpdate(executable: Handle, graph: Handle, result: Out<UpdateResult>) => {
        if result.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        graph_update::update(executable, graph, |found| result.set_if_wanted(found))
    };

    fn cudaGraphInstantiate[cudaGraphInstantiateWithFlags](executable: Out<Handle>, graph: Handle, flags: u64) =>
        graph::instantiate(executable, graph, flags);
    fn cudaGraphInstantiateWithParams[cudaGraphInstantiateWithParams_ptsz](
        executable: Out<Handle>, graph: Handle, parameters: Out<InstantiateParameters>,
    ) => graph::instantiate_with(executable, graph, parameters);
    fn cudaGraphExecGetFlags(executable: Handle, flags: Out<u64>) => graph::flags(executable, flags);
    fn cudaGraphExecDestroy(executable: Handle) => graph::destroy_executable(executable);
    fn cudaGraphLaunch[cudaGraphLaunch_ptsz](executable: Handle, stream: Handle) => graph::launch(executable, stream);
    fn cudaGraphUpload[cudaGraphUpload_ptsz](executable: Handle, stream: Handle) => graph::upload(executable, stream);
    fn cudaUserObjectCreate(
        object: Out<Handle>, pointer: HostAddress, destroy: RawHostFunction, references: c_uint, flags: c_uint,
    ) => object::create(object, pointer, destroy, references, flags);
    fn cudaUserObjectRetain(object: Handle, count: c_uint) => object::retain(object, count);
    fn cudaUserObjectRelease(object: Handle, count: c_uint) => object::release(object, count);
    fn cudaGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint) =>
        object::retain_for_graph(graph, object, count, flags);
    fn cudaGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint) =>
        object::release_for_graph(graph, object, count);
}
