//! Nodes that programs add to graphs.

use std::sync::Arc;

use crate::abi::{HostAddress, HostFunction, HostNode, In, KernelShape, Out};
use crate::driver::graph::Operation;
use crate::driver::launch::{Call, prepare_node};
use crate::driver::{State, context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;
use crate::shape::{Attributes, Shape};
use crate::work::Work;

/// Work without effect, which joins branches.
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

/// The dependencies of a new node, as the caller passes them.
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

/// Adds a kernel node.
pub(crate) fn add_kernel(
    node: Out<Handle>,
    graph: Handle,
    after: Dependencies,
    parameters: KernelShape,
    kernel: (Handle, Handle),
) -> Result {
    let mut state = state()?;
    let of_graph = state.graphs.get(graph)?.context;
    let call = launch_of(&mut state, parameters, kernel, Attributes::default(), of_graph)?;
    add(&mut state, node, graph, after, Arc::new(call))
}

/// The launch of a node, in its function's context. A library's kernel runs in `context`; if that
/// is 0, in the current context; if there is none, in `otherwise`.
pub(super) fn launch_of(
    state: &mut State,
    parameters: KernelShape,
    (kernel, context): (Handle, Handle),
    attributes: Attributes,
    otherwise: Handle,
) -> Result<Call> {
    let KernelShape { function, grid, block, shared_bytes, parameters, extra } = parameters;
    let function = if function == 0 { kernel } else { function };
    let of_function = state.functions.get(function).ok().map(|function| function.context);
    let asked = Some(context).filter(|context| *context != 0);
    let context = of_function.or(asked).or_else(context::current).unwrap_or(otherwise);
    let shape = Shape { grid, block, shared_bytes, attributes };
    prepare_node(state, context, function, shape, (HostAddress(parameters), HostAddress(extra)))
}

/// Adds a copy or fill node.
pub(crate) fn add_work(node: Out<Handle>, graph: Handle, after: Dependencies, work: impl Work + 'static) -> Result {
    add(&mut *state()?, node, graph, after, Arc::new(work))
}

/// Adds work at the end of the graph's order, after every node that it can depend on.
pub(super) fn add(
    state: &mut State,
    node: Out<Handle>,
    graph: Handle,
    after: Dependencies,
    work: Arc<dyn Work>,
) -> Result {
    if node.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let of_graph = state.graphs.get(graph)?;
    if after.count > of_graph.operations.len() {
        return Err(Error::INVALID_VALUE);
    }
    let mut places = Vec::new();
    for dependency in after.nodes.all(after.count)? {
        let place = state.node_of(graph, dependency)?;
        if places.contains(&place) {
            return Err(Error::INVALID_VALUE);
        }
        places.push(place);
    }
    state.graphs.get_mut(graph)?.operations.push(Operation { work, after: places });
    let nodes = state.nodes_of(graph)?;
    node.set(nodes[nodes.len() - 1])
}

/// Makes nodes depend on others. Dependencies must come earlier in the graph's order; anything else
/// is not supported.
pub(crate) fn add_dependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) -> Result {
    let mut state = state()?;
    state.graphs.get(graph)?;
    let mut added = Vec::new();
    for (from, to) in from.all(count)?.into_iter().zip(to.all(count)?) {
        let (from, to) = (state.node_of(graph, from)?, state.node_of(graph, to)?);
        if from == to {
            return Err(Error::INVALID_VALUE);
        }
        if from > to {
            journal::unsupported("a dependency of a graph's node on one that was added later");
            return Err(Error::NOT_SUPPORTED);
        }
        if added.contains(&(from, to)) || state.graphs.get(graph)?.operations[to].after.contains(&from) {
            return Err(Error::INVALID_VALUE);
        }
        added.push((from, to));
    }
    let of_graph = state.graphs.get_mut(graph)?;
    added.into_iter().for_each(|(from, to)| of_graph.operations[to].after.push(from));
    Ok(())
}
