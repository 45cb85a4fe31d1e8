//! Graphs: work that is captured once and launched repeatedly.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::abi::{HostFunction, InstantiateParameters, Out};
use crate::driver::memory::{Copy, pending_copy};
use crate::driver::object::References;
use crate::driver::pending::{self, Number, Until};
use crate::driver::{State, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;
use crate::work::Work;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`
const AUTO_FREE: u64 = 1;

/// A graph. Its operations are topologically sorted: none comes before one that it depends on.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(super) context: Handle,
    pub(super) operations: Vec<Operation>,
    /// Handles of its nodes, created when a program first asks for them.
    nodes: Vec<Handle>,
    pub(crate) objects: References,
}

/// The work of a node and the indices of its dependencies, in the order in which the program named
/// them.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) work: Arc<dyn Work>,
    pub(crate) after: Vec<usize>,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(super) graph: Handle,
    pub(super) index: usize,
}

/// A graph that can be launched.
#[derive(Debug)]
pub(crate) struct Executable {
    pub(crate) context: Handle,
    /// The graph it was created from. A handle of that graph's node names the same node here.
    pub(super) graph: Handle,
    pub(super) operations: Arc<[Operation]>,
    flags: u64,
    pub(super) objects: References,
    /// Its last launch, if that was queued in an asynchronous order.
    launched: Option<Number>,
}

impl Graph {
    pub(crate) fn new(context: Handle, operations: Vec<Operation>) -> Self {
        Self { context, operations, nodes: Vec::new(), objects: References::new() }
    }

    /// Sets the operations that a capture recorded.
    pub(crate) fn set_operations(&mut self, operations: Vec<Operation>) {
        self.operations = operations;
    }
}

/// Creates an empty graph, to which nodes are added.
pub(crate) fn create(graph: Out<Handle>, flags: c_uint) -> Result {
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let made = in_context(|state, context, _| Ok(state.graphs.add(Graph::new(context, Vec::new()))));
    graph.set(made?)
}

pub(crate) fn copy(copy: Out<Handle>, graph: Handle) -> Result {
    let mut state = state()?;
    let Graph { context, operations, objects, .. } = state.graphs.get(graph)?;
    if has_memory(operations) {
        return Err(Error::NOT_SUPPORTED);
    }
    let (context, operations, objects) = (*context, operations.clone(), objects.clone());
    state.retain_objects(&objects)?;
    copy.set(state.graphs.add(Graph { context, operations, nodes: Vec::new(), objects }))
}

pub(crate) fn destroy(graph: Handle) -> Result {
    let destroyed = {
        let mut state = state()?;
        let Graph { objects, .. } = state.graphs.remove(graph)?;
        state.nodes.remove_where(|node| node.graph == graph);
        state.release_objects(&objects)?
    };
    destroyed.into_iter().for_each(HostFunction::call);
    Ok(())
}

pub(crate) fn instantiate(executable: Out<Handle>, graph: Handle, flags: u64) -> Result {
    let mut state = state()?;
    let Graph { context, operations, objects, .. } = state.graphs.get(graph)?;
    // An allocation has a fixed address, so only one executable graph can use it.
    if has_memory(operations) && state.executables.iter().any(|(_, executable)| executable.graph == graph) {
        return Err(Error::INVALID_VALUE);
    }
    let (context, operations, objects) = (*context, operations.as_slice().into(), objects.clone());
    state.retain_objects(&objects)?;
    let made = state.executables.add(Executable { context, graph, operations, flags, objects, launched: None });
    executable.set(made)
}

pub(crate) fn instantiate_with(
    executable: Out<Handle>,
    graph: Handle,
    parameters: Out<InstantiateParameters>,
) -> Result {
    let asked = parameters.get()?;
    instantiate(executable, graph, asked.flags)?;
    // `CUDA_GRAPH_INSTANTIATE_SUCCESS`
    parameters.set(InstantiateParameters { error_node: 0, result: 0, ..asked })
}

pub(crate) fn flags(executable: Handle, flags: Out<u64>) -> Result {
    flags.set(state()?.executables.get(executable)?.flags)
}

/// Queues one launch of the graph. In a captured stream, its operations become part of the captured
/// graph.
pub(crate) fn launch(executable: Handle, stream: Handle) -> Result {
    // What a graph may allocate depends on earlier work.
    if pending::is_asynchronous() && has_memory(&state()?.executables.get(executable)?.operations) {
        pending::wait(Until::Everything)?;
    }
    let (context, operations) = {
        let mut state = state()?;
        let Executable { operations, flags, launched, .. } = state.executables.get(executable)?;
        let launched = *launched;
        let (operations, flags) = (Arc::clone(operations), *flags);
        if state.capture_of(stream).is_some() && has_memory(&operations) {
            journal::unsupported("a graph with allocations in another graph");
            return Err(Error::NOT_SUPPORTED);
        }
        if state.record(stream, || operations.iter().map(|operation| Arc::clone(&operation.work)).collect())? {
            return Ok(());
        }
        for operation in operations.iter() {
            operation.work.check()?;
        }
        state.check_allocations(&operations, flags & AUTO_FREE != 0)?;
        if pending::is_asynchronous() && !has_memory(&operations) {
            let queue = state.queue_of(stream)?;
            let launch = Launch { context: queue.context, works: pending_works(&state, &operations)? };
            // Launches of one executable graph run in order, even in different streams.
            let number = state.queue(queue, Arc::new(launch), launched.as_slice())?;
            state.executables.get_mut(executable)?.launched = Some(number);
            drop(state);
            return pending::progress();
        }
        (state.context_of(stream)?, operations)
    };
    run_in_order(context, operations.iter().map(|operation| &*operation.work))
}

/// Runs the work of a graph in order. After an error the rest does not run, and the next call
/// returns the error.
fn run_in_order<'a>(context: Handle, works: impl Iterator<Item = &'a dyn Work>) -> Result {
    for work in works {
        work.run()?;
        if state()?.usable(context).is_err() {
            break;
        }
    }
    Ok(())
}

/// A launch of a graph in an asynchronous order.
#[derive(Debug)]
struct Launch {
    context: Handle,
    works: Vec<Arc<dyn Work>>,
}

impl Work for Launch {
    fn run(&self) -> Result {
        run_in_order(self.context, self.works.iter().map(|work| &**work))
    }

    /// `CU_GRAPH_NODE_TYPE_GRAPH`
    fn node_type(&self) -> i32 {
        4
    }

    fn is_for_host(&self) -> bool {
        self.works.iter().any(|work| work.is_for_host())
    }
}

/// The work of a launch that runs later.
///
/// # Errors
/// `INVALID_VALUE` if an address of a copy is wrong.
fn pending_works(state: &State, operations: &[Operation]) -> Result<Vec<Arc<dyn Work>>> {
    let work = |operation: &Operation| match operation.work.as_a::<Copy>() {
        Some(copy) => pending_copy(*copy, state),
        None => Ok(Arc::clone(&operation.work)),
    };
    operations.iter().map(work).collect()
}

pub(crate) fn upload(executable: Handle, stream: Handle) -> Result {
    let state = state()?;
    state.context_of(stream)?;
    state.executables.get(executable).map(drop)
}

pub(crate) fn destroy_executable(executable: Handle) -> Result {
    wait_for_objects(executable)?;
    let destroyed = {
        let mut state = state()?;
        let Executable { objects, .. } = state.executables.remove(executable)?;
        state.release_objects(&objects)?
    };
    destroyed.into_iter().for_each(HostFunction::call);
    Ok(())
}

/// Waits for work if the graph keeps the program's objects, which may be destroyed now.
pub(super) fn wait_for_objects(executable: Handle) -> Result {
    let has_objects = state()?.executables.get(executable).is_ok_and(|executable| !executable.objects.is_empty());
    if has_objects { pending::wait(Until::Everything) } else { Ok(()) }
}

impl State {
    /// The handles of a graph's nodes.
    pub(super) fn nodes_of(&mut self, graph: Handle) -> Result<&[Handle]> {
        let of_graph = self.graphs.get_mut(graph)?;
        for index in of_graph.nodes.len()..of_graph.operations.len() {
            of_graph.nodes.push(self.nodes.add(Node { graph, index }));
        }
        Ok(&of_graph.nodes)
    }

    /// Index of a node in the graph's order.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the node is not in this graph.
    pub(super) fn node_of(&self, graph: Handle, node: Handle) -> Result<usize> {
        let node = self.nodes.get(node).ok().filter(|node| node.graph == graph);
        node.map(|node| node.index).ok_or(Error::INVALID_VALUE)
    }
}

/// Whether any node allocates or frees memory.
fn has_memory(operations: &[Operation]) -> bool {
    operations.iter().any(|operation| operation.work.has_memory())
}

/// The work of a node.
pub(super) fn work_of(node: Handle) -> Result<Arc<dyn Work>> {
    let state = state()?;
    let Node { graph, index } = *state.nodes.get(node)?;
    Ok(Arc::clone(&state.graphs.get(graph)?.operations[index].work))
}

pub(crate) fn node_type(node: Handle, kind: Out<c_int>) -> Result {
    kind.set(work_of(node)?.node_type())
}
