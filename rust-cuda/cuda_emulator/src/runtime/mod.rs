//! CUDA's runtime library on top of the driver: the state that `libcudart` keeps and the driver
//! does not.
//!
//! Each thread has a device. Its primary context is created when a function first needs it. A
//! program's kernels and variables are identified by addresses in the program. Its initializers
//! register these together with the fat binaries that contain the PTX. A fat binary becomes a
//! driver library, loaded on first use of one of its kernels or variables.

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

/// Initializes the driver. If the environment has errors, the result is the same as without a
/// device.
pub(crate) fn initialise() -> Result {
    driver::initialise(0)
}

/// The ordinal of the thread's device: the current context's device if there is a context.
pub(crate) fn current_device() -> Result<usize> {
    initialise()?;
    let state = state()?;
    let of_context = context::current().and_then(|context| state.contexts.get(context).ok());
    Ok(of_context.map_or_else(|| DEVICE.get(), |context| context.ordinal))
}

/// Makes a context current if there is none: the primary context of the thread's device.
///
/// # Errors
/// Errors of the driver's initialization.
pub(crate) fn bind() -> Result<Handle> {
    initialise()?;
    let current = context::current().filter(|context| state().is_ok_and(|state| state.contexts.get(*context).is_ok()));
    match current {
        Some(context) => Ok(context),
        None => make_current(DEVICE.get()),
    }
}

/// Sets the thread's device, and makes its primary context current.
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

/// Destroys the primary context of the thread's device, with its contents.
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

/// Replaces `INVALID_HANDLE` with the error for the kind of pointer that the program should have
/// passed.
fn none_is(error: Error) -> impl Fn(Error) -> Error {
    move |found| if found == Error::INVALID_HANDLE { error } else { found }
}
