//! Nodes that a program adds to a graph.

use std::sync::Arc;

use crate::abi::{HostAddress, HostFunction, HostNode, In, KernelShape, Out};
use crate::driver::launch::prepare;
use crate::driver::{State, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;
use crate::shape::{Attributes, Shape};
use crate::work::Work;

/// Work of no effect, which joins branches.
#[derive(Debug)]
struct Empty;

impl Work for Empty {
    fn run(&self) -> Result {
        Ok(())
    }

    fn node_type(&self) -> i32 {
        5
    }
}

/// The nodes that a new node comes after, as its caller passes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dependencies {
    pub(crate) nodes: In<Handle>,
    pub(crate) count: usize,
}

pub(crate) fn add_empty(node: Out<Handle>, graph: Handle, after: Dependencies) -> Result {
    add(&mut *state()?, node, graph, after, Arc::new(Empty))
}

pub(crate) fn add_host(node: Out<Handle>, graph: Handle, after: Dependencies, parameters: In<HostNode>) -> Result {
    let HostNode { function, data } = parameters.get()?;
    add(&mut *state()?, node, graph, after, Arc::new(HostFunction::new(function, data)?))
}

/// Adds a launch in `context`, or if that is 0, in the graph's.
pub(crate) fn add_kernel(
    node: Out<Handle>,
    graph: Handle,
    after: Dependencies,
    parameters: KernelShape,
    (kernel, context): (Handle, Handle),
) -> Result {
    let KernelShape { function, grid, block, shared_bytes, parameters, extra } = parameters;
    let mut state = state()?;
    let context = if context == 0 { state.graphs.get(graph)?.context } else { context };
    let function = if function == 0 { kernel } else { function };
    let shape = Shape { grid, block, shared_bytes, attributes: Attributes::default() };
    let call = prepare(&mut state, context, function, shape, (HostAddress(parameters), HostAddress(extra)))?;
    add(&mut state, node, graph, after, Arc::new(call))
}

/// Adds a copy or a fill.
pub(crate) fn add_work(node: Out<Handle>, graph: Handle, after: Dependencies, work: Result<Arc<dyn Work>>) -> Result {
    add(&mut *state()?, node, graph, after, work?)
}

/// Adds work at the end of the graph's order, which is after every node that it can depend on.
fn add(state: &mut State, node: Out<Handle>, graph: Handle, after: Dependencies, work: Arc<dyn Work>) -> Result {
    if node.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    for dependency in after.nodes.all(after.count)? {
        state.node_of(graph, dependency)?;
    }
    let of_graph = state.graphs.get_mut(graph)?;
    of_graph.operations = of_graph.operations.iter().cloned().chain([work]).collect();
    let nodes = state.nodes_of(graph)?;
    node.set(nodes[nodes.len() - 1])
}

/// Has nodes come after others: those are before them in the graph's order, or it is not supported.
pub(crate) fn add_dependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) -> Result {
    let state = state()?;
    state.graphs.get(graph)?;
    for (from, to) in from.all(count)?.into_iter().zip(to.all(count)?) {
        let (from, to) = (state.node_of(graph, from)?, state.node_of(graph, to)?);
        if from == to {
            return Err(Error::INVALID_VALUE);
        }
        if from > to {
            journal::unsupported("a dependency of a graph's node on one that was added later");
            return Err(Error::NOT_SUPPORTED);
        }
    }
    Ok(())
}
