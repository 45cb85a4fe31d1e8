//! User objects: a program's objects that are destroyed when no graph uses them any longer.

use std::collections::BTreeMap;
use std::ffi::c_uint;

use crate::abi::{HostAddress, HostFunction, Out, RawHostFunction};
use crate::driver::{State, state};
use crate::error::{Error, Result};
use crate::handles::Handle;

/// `CU_GRAPH_USER_OBJECT_MOVE`: the caller's references become the graph's.
const MOVE: c_uint = 1;

/// An object of the program, and the number of references to it.
#[derive(Debug)]
pub(crate) struct UserObject {
    destroy: HostFunction,
    references: u32,
}

/// Number of references that a graph holds to each object.
pub(crate) type References = BTreeMap<Handle, u32>;

pub(crate) fn create(
    object: Out<Handle>,
    pointer: HostAddress,
    destroy: RawHostFunction,
    references: c_uint,
    flags: c_uint,
) -> Result {
    // `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC` must be set.
    if references == 0 || flags != 1 || object.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let destroy = HostFunction::new(destroy, pointer)?;
    let made = state()?.objects.add(UserObject { destroy, references });
    object.set(made)
}

pub(crate) fn retain(object: Handle, count: c_uint) -> Result {
    state()?.retain_objects(&[(object, count)].into())
}

pub(crate) fn release(object: Handle, count: c_uint) -> Result {
    let destroyed = state()?.release_objects(&[(object, count)].into())?;
    destroyed.into_iter().for_each(HostFunction::call);
    Ok(())
}

/// Gives a graph references to an object.
pub(crate) fn retain_for_graph(graph: Handle, object: Handle, count: c_uint, flags: c_uint) -> Result {
    if flags > MOVE || count == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let mut state = state()?;
    state.graphs.get(graph)?;
    match flags {
        MOVE => drop(state.objects.get(object)?),
        _ => state.retain_objects(&[(object, count)].into())?,
    }
    *state.graphs.get_mut(graph)?.objects.entry(object).or_default() += count;
    Ok(())
}

/// Takes references to an object from a graph.
pub(crate) fn release_for_graph(graph: Handle, object: Handle, count: c_uint) -> Result {
    let destroyed = {
        let mut state = state()?;
        let held = state.graphs.get_mut(graph)?.objects.get_mut(&object).ok_or(Error::INVALID_VALUE)?;
        *held = held.checked_sub(count).ok_or(Error::INVALID_VALUE)?;
        state.release_objects(&[(object, count)].into())?
    };
    destroyed.into_iter().for_each(HostFunction::call);
    Ok(())
}

impl State {
    /// Adds references.
    ///
    /// # Errors
    /// `INVALID_HANDLE`
    pub(crate) fn retain_objects(&mut self, references: &References) -> Result {
        for (object, count) in references {
            self.objects.get_mut(*object)?.references += count;
        }
        Ok(())
    }

    /// Removes references, and returns the destructors of objects without any left. Call them after
    /// unlocking the state.
    ///
    /// # Errors
    /// `INVALID_HANDLE`; `INVALID_VALUE` if there are fewer references.
    pub(crate) fn release_objects(&mut self, references: &References) -> Result<Vec<HostFunction>> {
        let mut destroyed = Vec::new();
        for (object, count) in references {
            let known = self.objects.get_mut(*object)?;
            known.references = known.references.checked_sub(*count).ok_or(Error::INVALID_VALUE)?;
            if known.references == 0 {
                destroyed.push(self.objects.remove(*object)?.destroy);
            }
        }
        Ok(destroyed)
    }
}
