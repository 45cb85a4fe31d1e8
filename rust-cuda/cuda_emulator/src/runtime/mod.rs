//! CUDA's runtime library over the driver: what `libcudart` keeps, and the driver does not.
//!
//! A thread has a device, whose primary context is made when a function first needs it. The kernels and variables of a program are known
//! by addresses in the program, which its initialisers register together with the fat binaries that have their PTX. A fat binary is a
//! library of the driver, loaded when one of its kernels or variables is first used.

pub(crate) mod arrays;
pub(crate) mod binaries;
pub(crate) mod copies;
pub(crate) mod devices;
pub(crate) mod error;
pub(crate) mod graphs;
pub(crate) mod launches;
pub mod properties;
pub(crate) mod version;

use std::cell::Cell;

use crate::driver::{self, context, device, state};
use crate::error::{Error, Result};
use crate::handles::Handle;

thread_local! {
    /// Ordinal of the thread's device.
    static DEVICE: Cell<usize> = const { Cell::new(0) };
}

/// Initialises the driver. Errors of the environment are as if there were no device.
pub(crate) fn initialise() -> Result {
    driver::initialise(0)
}

/// The ordinal of the thread's device: that of the current context if there is one.
pub(crate) fn current_device() -> Result<usize> {
    initialise()?;
    let state = state()?;
    let of_context = context::current().and_then(|context| state.contexts.get(context).ok());
    Ok(of_context.map_or_else(|| DEVICE.get(), |context| context.ordinal))
}

/// Has a context current: the one that is, or the primary one of the thread's device.
///
/// # Errors
/// Those of the driver's initialisation.
pub(crate) fn bind() -> Result<Handle> {
    initialise()?;
    let current = context::current().filter(|context| state().is_ok_and(|state| state.contexts.get(*context).is_ok()));
    match current {
        Some(context) => Ok(context),
        None => make_current(DEVICE.get()),
    }
}

/// Makes a device the thread's, and its primary context the current one.
///
/// # Errors
/// `INVALID_DEVICE`
pub(crate) fn set_device(ordinal: i32) -> Result {
    initialise()?;
    let (ordinal, _) = device::with_ordinal(ordinal)?;
    DEVICE.set(ordinal);
    make_current(ordinal).map(drop)
}

fn make_current(ordinal: usize) -> Result<Handle> {
    let context = state()?.primary_of_runtime(ordinal);
    context::set_current(context)?;
    Ok(context)
}

/// Destroys the primary context of the thread's device, and what it has.
pub(crate) fn reset_device() -> Result {
    let ordinal = current_device()?;
    context::reset_primary(ordinal as i32)?;
    error::take_last();
    Ok(())
}

/// The primary context of a device.
///
/// # Errors
/// `INVALID_DEVICE`
pub(crate) fn primary(ordinal: i32) -> Result<Handle> {
    let (ordinal, _) = device::with_ordinal(ordinal)?;
    Ok(state()?.primary_of_runtime(ordinal))
}

/// The error for what a pointer of the program should be, and is not.
fn none_is(error: Error) -> impl Fn(Error) -> Error {
    move |found| if found == Error::INVALID_HANDLE { error } else { found }
}
