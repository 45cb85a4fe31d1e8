//! Events: points in time of the host, since work runs when it is queued.

use std::ffi::c_uint;
use std::time::Instant;

use crate::abi::Out;
use crate::driver::stream::Clock;
use crate::driver::{in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;

/// Flags that an event may have: blocking, without times, between processes.
const ALL_FLAGS: c_uint = 7;
const DISABLE_TIMING: c_uint = 2;
const INTERPROCESS: c_uint = 4;

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: Handle,
    flags: c_uint,
    /// When it was last recorded.
    recorded: Option<Instant>,
    /// The capture in which it was recorded last, and what comes before it there.
    pub(crate) captured: Option<(u64, Clock)>,
}

pub(crate) fn create(event: Out<Handle>, flags: c_uint) -> Result {
    if flags & !ALL_FLAGS != 0 || event.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    if flags & INTERPROCESS != 0 {
        crate::journal::unsupported("an event for other processes");
        return Err(Error::NOT_SUPPORTED);
    }
    let made =
        in_context(|state, context, _| Ok(state.events.add(Event { context, flags, recorded: None, captured: None })));
    event.set(made?)
}

pub(crate) fn destroy(event: Handle) -> Result {
    state()?.events.remove(event).map(drop)
}

pub(crate) fn record(event: Handle, stream: Handle) -> Result {
    let mut state = state()?;
    let context = state.context_of(stream)?;
    state.usable(context)?;
    let captured = state.captured_at(stream);
    let event = state.events.get_mut(event)?;
    if event.context != context {
        return Err(Error::INVALID_HANDLE);
    }
    if captured.is_none() {
        event.recorded = Some(Instant::now());
    }
    event.captured = captured;
    Ok(())
}

/// An event that was recorded has happened; one that was not counts as one that has.
pub(crate) fn query(event: Handle) -> Result {
    let state = state()?;
    let event = state.events.get(event)?;
    if event.captured.is_some() {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    state.usable(event.context).map(drop)
}

/// The milliseconds that the host's work between two events has taken.
pub(crate) fn elapsed(milliseconds: Out<f32>, start: Handle, end: Handle) -> Result {
    let state = state()?;
    let [start, end] = [start, end].map(|event| state.events.get(event));
    let (start, end) = (start?, end?);
    state.usable(start.context)?;
    if start.flags & DISABLE_TIMING != 0 || end.flags & DISABLE_TIMING != 0 {
        return Err(Error::INVALID_HANDLE);
    }
    let (Some(start), Some(end)) = (start.recorded, end.recorded) else { return Err(Error::INVALID_HANDLE) };
    let seconds =
        end.saturating_duration_since(start).as_secs_f32() - start.saturating_duration_since(end).as_secs_f32();
    milliseconds.set(seconds * 1e3)
}
