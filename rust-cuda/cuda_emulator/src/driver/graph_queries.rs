//! Queries for a graph's nodes and their dependencies.

use crate::abi::{HostAddress, Out};
use crate::driver::graph::Node;
use crate::driver::{State, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::host;

/// Size of `CUgraphEdgeData`. An edge of the usual kind is all zeros.
const EDGE_BYTES: usize = 8;

/// Writes as many nodes as there is room for, followed by zeros. Without an array, writes their
/// number.
fn list(found: &[Handle], nodes: Out<Handle>, count: Out<usize>) -> Result {
    if nodes.is_null() {
        return count.set(found.len());
    }
    let room = count.get()?;
    for index in 0..room {
        nodes.set_nth(index, found.get(index).copied().unwrap_or(0))?;
    }
    count.set(room.min(found.len()))
}

/// Like [`list`], and also writes the kind of each edge.
fn list_edges(found: &[Handle], nodes: Out<Handle>, edges: HostAddress, count: Out<usize>) -> Result {
    if edges.0 != 0 && !nodes.is_null() {
        host::write(edges, &vec![0; EDGE_BYTES * count.get()?.min(found.len())])?;
    }
    list(found, nodes, count)
}

/// The nodes of a graph.
pub(crate) fn nodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) -> Result {
    list(state()?.nodes_of(graph)?, nodes, count)
}

/// The nodes of a graph without dependencies.
pub(crate) fn roots(graph: Handle, nodes: Out<Handle>, count: Out<usize>) -> Result {
    let mut state = state()?;
    let of_graph = state.nodes_of(graph)?.to_vec();
    let operations = &state.graphs.get(graph)?.operations;
    let roots = of_graph.into_iter().zip(operations).filter(|(_, operation)| operation.after.is_empty());
    list(&roots.map(|(node, _)| node).collect::<Vec<_>>(), nodes, count)
}

/// The edges of a graph, as pairs of nodes: the second depends on the first.
pub(crate) fn edges(
    graph: Handle,
    from: Out<Handle>,
    to: Out<Handle>,
    edges: HostAddress,
    count: Out<usize>,
) -> Result {
    let pairs = state()?.edges_of(graph)?;
    let (sources, targets): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    if from.is_null() != to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    if !to.is_null() {
        let mut room = count.get()?;
        list(&targets, to, Out::to(&mut room))?;
    }
    list_edges(&sources, from, edges, count)
}

/// The nodes that a node depends on.
pub(crate) fn dependencies(node: Handle, nodes: Out<Handle>, edges: HostAddress, count: Out<usize>) -> Result {
    let mut state = state()?;
    let Node { graph, index } = *state.nodes.get(node).map_err(|_| Error::INVALID_VALUE)?;
    let of_graph = state.nodes_of(graph)?.to_vec();
    let after = &state.graphs.get(graph)?.operations[index].after;
    list_edges(&after.iter().map(|place| of_graph[*place]).collect::<Vec<_>>(), nodes, edges, count)
}

/// The nodes that depend on a node.
pub(crate) fn dependents(node: Handle, nodes: Out<Handle>, edges: HostAddress, count: Out<usize>) -> Result {
    let mut state = state()?;
    let Node { graph, .. } = *state.nodes.get(node).map_err(|_| Error::INVALID_VALUE)?;
    let pairs = state.edges_of(graph)?.into_iter().filter(|(from, _)| *from == node);
    list_edges(&pairs.map(|(_, to)| to).collect::<Vec<_>>(), nodes, edges, count)
}

impl State {
    fn edges_of(&mut self, graph: Handle) -> Result<Vec<(Handle, Handle)>> {
        let of_graph = self.nodes_of(graph)?.to_vec();
        let operations = self.graphs.get(graph)?.operations.iter().enumerate();
        let pairs = operations.flat_map(|(index, operation)| operation.after.iter().map(move |from| (*from, index)));
        Ok(pairs.map(|(from, to)| (of_graph[from], of_graph[to])).collect())
    }
}
