//! Node parameters and their updates, in a graph or in an executable graph, which has its own copy
//! of them.

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::{AllocateNode, Copy3D, FillNode, HostFunction, HostNode, In, KernelNode, KernelShape, UpdateResult};
use crate::driver::graph::{Node, Operation, wait_for_objects, work_of};
use crate::driver::graph_memory::{Allocation, Free};
use crate::driver::graph_nodes::launch_of;
use crate::driver::launch::Call;
use crate::driver::memory::{Address, Copy, Fill};
use crate::driver::{State, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::work::Work;

/// `CU_GRAPH_EXEC_UPDATE_ERROR`, followed by the kinds of changes.
const OTHER: c_int = 1;
const TOPOLOGY: c_int = 2;
const NODE_TYPE: c_int = 3;
const PARAMETERS: c_int = 5;
const NOT_SUPPORTED: c_int = 6;
const FUNCTION: c_int = 7;
const ATTRIBUTES: c_int = 8;

/// Why a graph cannot update another: a `CUgraphExecUpdateResult` and the indices of the node and
/// of its dependency in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Difference {
    result: c_int,
    node: Option<usize>,
    from: Option<usize>,
}

/// What a graph node does, as far as its parameters can be updated.
enum Task<'a> {
    Launch(&'a Call),
    Copy(&'a Copy),
    Fill(&'a Fill),
    Other,
}

impl<'a> Task<'a> {
    fn of(work: &'a dyn Work) -> Self {
        let launch = work.as_a().map(Self::Launch);
        let transfer = || work.as_a().map(Self::Copy).or_else(|| work.as_a().map(Self::Fill));
        launch.or_else(transfer).unwrap_or(Self::Other)
    }
}

/// Reads the parameters of a node's work.
///
/// # Errors
/// `INVALID_VALUE` if the work has another type.
fn parameters_of<T: Work, P>(node: Handle, parameters: impl FnOnce(&T) -> P) -> Result<P> {
    work_of(node)?.as_a().map(parameters).ok_or(Error::INVALID_VALUE)
}

/// Shape, function and parameters of a kernel node. The parameters are valid until the node gets
/// others.
pub(crate) fn kernel_node(node: Handle) -> Result<KernelNode> {
    parameters_of(node, Call::node)
}

pub(crate) fn copy_node(node: Handle) -> Result<Copy3D> {
    parameters_of(node, Copy::parameters)
}

pub(crate) fn fill_node(node: Handle) -> Result<FillNode> {
    parameters_of(node, Fill::parameters)
}

pub(crate) fn host_node(node: Handle) -> Result<HostNode> {
    parameters_of(node, |function: &HostFunction| function.node())
}

pub(crate) fn allocate_node(node: Handle) -> Result<AllocateNode> {
    parameters_of(node, Allocation::node)
}

/// The address that a node frees.
pub(crate) fn free_node(node: Handle) -> Result<u64> {
    parameters_of(node, |free: &Free| free.0)
}

/// Sets the parameters of a launch, in the graph's node or in the same node of an executable graph.
/// Its attributes stay the same.
pub(crate) fn set_kernel(
    executable: Option<Handle>,
    node: Handle,
    parameters: KernelShape,
    kernel: (Handle, Handle),
) -> Result {
    replace(executable, node, |state, old| {
        let old: &Call = old.as_a().ok_or(Error::INVALID_VALUE)?;
        Ok(Arc::new(launch_of(state, parameters, kernel, old.attributes, old.context)?))
    })
}

/// Sets the parameters of a copy. In an executable graph, both the old and the new copy must copy a
/// single row.
pub(crate) fn set_copy(executable: Option<Handle>, node: Handle, copy: Copy) -> Result {
    replace(executable, node, |_, old| match Task::of(old) {
        Task::Copy(old) if executable.is_none() || old.is_one_row() && copy.is_one_row() => Ok(Arc::new(copy)),
        _ => Err(Error::INVALID_VALUE),
    })
}

/// Sets the parameters of a fill. In an executable graph, the fill keeps its number of rows and may
/// not be empty.
pub(crate) fn set_fill(executable: Option<Handle>, node: Handle, fill: Fill) -> Result {
    let new = fill.parameters();
    replace(executable, node, |_, old| match Task::of(old) {
        Task::Fill(_) if executable.is_none() => Ok(Arc::new(fill)),
        Task::Fill(old) if old.parameters().height == new.height && new.width != 0 && new.height != 0 => {
            Ok(Arc::new(fill))
        }
        _ => Err(Error::INVALID_VALUE),
    })
}

/// Sets the function that a node calls.
pub(crate) fn set_host(executable: Option<Handle>, node: Handle, parameters: In<HostNode>) -> Result {
    let HostNode { function, data } = parameters.get()?;
    let function = HostFunction::new(function, data)?;
    replace(executable, node, |_, old| {
        let _: &HostFunction = old.as_a().ok_or(Error::INVALID_VALUE)?;
        Ok(Arc::new(function))
    })
}

/// Replaces the work of a node with the result of `new`.
///
/// # Errors
/// Errors from `new`; `INVALID_HANDLE` if there is no such executable graph; `INVALID_VALUE` if it
/// was not created from the node's graph, or if an executable graph cannot replace the old work
/// with the new.
fn replace(
    executable: Option<Handle>,
    node: Handle,
    new: impl FnOnce(&mut State, &dyn Work) -> Result<Arc<dyn Work>>,
) -> Result {
    let mut state = state()?;
    let of_executable = executable.map(|handle| state.executables.get(handle)).transpose()?;
    let Node { graph, index } = *state.nodes.get(node).map_err(|_| Error::INVALID_VALUE)?;
    let operations = match of_executable {
        Some(executable) if executable.graph != graph => return Err(Error::INVALID_VALUE),
        Some(executable) => &executable.operations[..],
        None => &state.graphs.get(graph)?.operations[..],
    };
    // A node added after the executable graph was created is not part of it.
    let old = Arc::clone(&operations.get(index).ok_or(Error::INVALID_VALUE)?.work);
    let work = new(&mut state, &*old)?;
    let Some(executable) = executable else {
        state.graphs.get_mut(graph)?.operations[index].work = work;
        return Ok(());
    };
    if state.difference(&*old, &*work).is_some() {
        return Err(Error::INVALID_VALUE);
    }
    Arc::make_mut(&mut state.executables.get_mut(executable)?.operations)[index].work = work;
    Ok(())
}

/// Updates all nodes of an executable graph with the parameters of a graph that has the same shape.
/// Writes to `report` whether this succeeded.
///
/// # Errors
/// `INVALID_HANDLE`; `GRAPH_EXEC_UPDATE_FAILURE` if a node differs in a way that an update cannot
/// change. In that case no node is updated.
pub(crate) fn update(executable: Handle, graph: Handle, report: impl FnOnce(UpdateResult)) -> Result {
    wait_for_objects(executable)?;
    let updated = state().and_then(|mut state| match state.update(executable, graph)? {
        Ok(destroyed) => Ok(Ok(destroyed)),
        Err(difference) => state.named(graph, difference).map(Err),
    });
    match updated {
        Ok(Ok(destroyed)) => {
            report(UpdateResult { result: 0, node: 0, from_node: 0 });
            destroyed.into_iter().for_each(HostFunction::call);
            Ok(())
        }
        Ok(Err(difference)) => {
            report(difference);
            Err(Error::GRAPH_EXEC_UPDATE_FAILURE)
        }
        Err(error) => {
            report(UpdateResult { result: OTHER, node: 0, from_node: 0 });
            Err(error)
        }
    }
}

impl State {
    /// Updates an executable graph, which then holds the graph's references to objects. Returns the
    /// destructors of objects that are no longer referenced.
    fn update(
        &mut self,
        executable: Handle,
        graph: Handle,
    ) -> Result<std::result::Result<Vec<HostFunction>, Difference>> {
        let old = &self.executables.get(executable)?.operations;
        let of_graph = self.graphs.get(graph)?;
        let pairs = match pair(old, &of_graph.operations) {
            Ok(pairs) => pairs,
            Err(difference) => return Ok(Err(difference)),
        };
        let mut updated = old.to_vec();
        for (operation, place) in updated.iter_mut().zip(pairs) {
            let work = &of_graph.operations[place].work;
            if let Some(result) = self.difference(&*operation.work, &**work) {
                return Ok(Err(Difference { result, node: Some(place), from: None }));
            }
            operation.work = Arc::clone(work);
        }
        let objects = of_graph.objects.clone();
        self.retain_objects(&objects)?;
        let executable = self.executables.get_mut(executable)?;
        executable.operations = updated.into();
        let before = std::mem::replace(&mut executable.objects, objects);
        self.release_objects(&before).map(Ok)
    }

    /// The difference, with the handles of the graph's nodes.
    fn named(&mut self, graph: Handle, difference: Difference) -> Result<UpdateResult> {
        let nodes = self.nodes_of(graph)?;
        let handle = |place: Option<usize>| place.and_then(|place| nodes.get(place).copied()).unwrap_or(0);
        let Difference { result, node, from } = difference;
        Ok(UpdateResult { result, node: handle(node), from_node: handle(from) })
    }

    /// Why an executable graph cannot replace the old work with the new, as a
    /// `CUgraphExecUpdateResult`.
    fn difference(&self, old_work: &dyn Work, new_work: &dyn Work) -> Option<c_int> {
        match (Task::of(old_work), Task::of(new_work)) {
            (Task::Launch(old), Task::Launch(new)) if old.context != new.context => Some(FUNCTION),
            (Task::Launch(old), Task::Launch(new)) => {
                (old.attributes.cooperative != new.attributes.cooperative).then_some(ATTRIBUTES)
            }
            (Task::Copy(old), Task::Copy(new)) => {
                let is_same = self.is_same_memory(old.to.address, new.to.address)
                    && self.is_same_memory(old.from.address, new.from.address);
                (!is_same).then_some(PARAMETERS)
            }
            (Task::Fill(old), Task::Fill(new)) => {
                let [old, new] = [old, new].map(|fill| fill.parameters());
                let [shape, new_shape] =
                    [old, new].map(|fill| (fill.pitch, fill.element_bytes, fill.width, fill.height));
                let is_same = self.is_same_memory(Address::Device(old.address), Address::Device(new.address));
                // For fills of rows, only address and value may change.
                let has_rows = old.height > 1 || new.height > 1;
                (!is_same || has_rows && shape != new_shape).then_some(PARAMETERS)
            }
            _ if old_work.node_type() != new_work.node_type() => Some(NODE_TYPE),
            _ => old_work.has_memory().then_some(NOT_SUPPORTED),
        }
    }

    /// Whether two addresses have the same kind of memory and the same context. Nothing is known
    /// about an old address with a freed allocation.
    fn is_same_memory(&self, old: Address, new: Address) -> bool {
        #[derive(PartialEq)]
        enum Kind {
            Host,
            Device,
            Array,
        }
        let [(kind, owner), (new_kind, new_owner)] = [old, new].map(|address| match address {
            Address::Host(_) => (Some(Kind::Host), None),
            Address::Device(at) => (Some(Kind::Device), self.owner(at)),
            Address::Array(array, at) => {
                let place = self.array_place(array, at, [0; 3]);
                (Some(Kind::Array), place.ok().and_then(|place| self.owner(place.address)))
            }
            Address::Any(at) => {
                let owner = self.owner(at);
                (owner.map(|_| Kind::Device), owner)
            }
        });
        match (kind, new_kind) {
            (Some(kind), Some(new_kind)) if kind != new_kind => return false,
            // An address that is not on a device is the host's.
            (Some(Kind::Device | Kind::Array), None) => return false,
            _ => {}
        }
        match (owner, new_owner) {
            (Some((ordinal, context)), Some((new_ordinal, new_context))) => {
                ordinal == new_ordinal && (context.is_none() || new_context.is_none() || context == new_context)
            }
            _ => true,
        }
    }

    /// Ordinal of the device with this address, and the context that allocated it. A module's
    /// variable has no context.
    fn owner(&self, address: u64) -> Option<(usize, Option<Handle>)> {
        let (ordinal, extent) = self.extent_of(address)?;
        let owner = self.contexts.iter().find(|(_, context)| context.allocations.contains(&extent.start));
        Some((ordinal, owner.map(|(handle, _)| handle)))
    }
}

/// The index in `new` of each node of `old`. The exit nodes of both graphs correspond in their
/// order, and so do the dependencies of nodes that correspond.
fn pair(old: &[Operation], new: &[Operation]) -> std::result::Result<Vec<usize>, Difference> {
    let differs = |node, from| Difference { result: TOPOLOGY, node, from };
    if old.len() != new.len() {
        return Err(differs(None, None));
    }
    let [exits, new_exits] = [old, new].map(exits);
    if exits.len() != new_exits.len() {
        return Err(differs(new_exits.get(exits.len()).copied(), None));
    }
    let (mut pairs, mut of_new) = (vec![None; old.len()], vec![None; new.len()]);
    let mut pending: Vec<(usize, usize)> = exits.into_iter().zip(new_exits).collect();
    for (place, new_place) in &pending {
        (pairs[*place], of_new[*new_place]) = (Some(*new_place), Some(*place));
    }
    while let Some((place, new_place)) = pending.pop() {
        let (after, new_after) = (&old[place].after, &new[new_place].after);
        if after.len() != new_after.len() {
            return Err(differs(Some(new_place), None));
        }
        for (from, new_from) in after.iter().zip(new_after) {
            match (pairs[*from], of_new[*new_from]) {
                (None, None) => {
                    (pairs[*from], of_new[*new_from]) = (Some(*new_from), Some(*from));
                    pending.push((*from, *new_from));
                }
                (Some(known), _) if known == *new_from => {}
                _ => return Err(differs(Some(new_place), Some(*new_from))),
            }
        }
    }
    pairs.into_iter().collect::<Option<_>>().ok_or(differs(None, None))
}

/// The nodes that no other depends on.
fn exits(operations: &[Operation]) -> Vec<usize> {
    let mut is_exit = vec![true; operations.len()];
    for from in operations.iter().flat_map(|operation| &operation.after) {
        is_exit[*from] = false;
    }
    (0..operations.len()).filter(|place| is_exit[*place]).collect()
}
