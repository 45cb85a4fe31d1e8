//! Events: points in host time when work runs. Work runs when it is queued or, in an asynchronous
//! order, later.

use std::ffi::c_uint;
use std::sync::Arc;
use std::time::Instant;

use crate::abi::Out;
use crate::driver::pending::{self, Number, Until};
use crate::driver::stream::Clock;
use crate::driver::{in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::work::Work;

/// Flags that an event may have: blocking sync, no timing, interprocess.
const ALL_FLAGS: c_uint = 7;
const DISABLE_TIMING: c_uint = 2;
const INTERPROCESS: c_uint = 4;

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: Handle,
    flags: c_uint,
    /// Time of the last record.
    recorded: Option<Instant>,
    /// The work that records it, as last queued in an asynchronous order.
    pub(crate) pending: Option<Number>,
    /// The capture in which it was last recorded, and what precedes it there.
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
    let made = in_context(|state, context, _| {
        Ok(state.events.add(Event { context, flags, recorded: None, pending: None, captured: None }))
    });
    event.set(made?)
}

pub(crate) fn destroy(event: Handle) -> Result {
    state()?.events.remove(event).map(drop)
}

pub(crate) fn record(event: Handle, stream: Handle) -> Result {
    let is_pending = {
        let mut state = state()?;
        let queue = state.queue_of(stream)?;
        state.usable(queue.context)?;
        let captured = state.captured_at(stream);
        if state.events.get(event)?.context != queue.context {
            return Err(Error::INVALID_HANDLE);
        }
        let is_pending = captured.is_none() && pending::is_asynchronous();
        let number = if is_pending { Some(state.queue(queue, Arc::new(Record(event)), &[])?) } else { None };
        let event = state.events.get_mut(event)?;
        if captured.is_none() && !is_pending {
            event.recorded = Some(Instant::now());
        }
        (event.captured, event.pending) = (captured, number);
        is_pending
    };
    if is_pending { pending::progress() } else { Ok(()) }
}

/// Records an event.
#[derive(Debug)]
struct Record(Handle);

impl Work for Record {
    fn run(&self) -> Result {
        // The program may have destroyed the event in the meantime.
        if let Ok(event) = state()?.events.get_mut(self.0) {
            event.recorded = Some(Instant::now());
        }
        Ok(())
    }

    /// `CU_GRAPH_NODE_TYPE_EVENT_RECORD`
    fn node_type(&self) -> i32 {
        7
    }
}

/// Waits for an event. An event that was never recorded counts as completed.
pub(crate) fn synchronise(event: Handle) -> Result {
    let (context, number) = recorded(event)?;
    number.map_or(Ok(()), |number| pending::wait(Until::Item(number)))?;
    state()?.settled(context)
}

/// Like [`synchronise`], but does not wait.
///
/// # Errors
/// `NOT_READY` if the event has not completed.
pub(crate) fn query(event: Handle) -> Result {
    let (context, number) = recorded(event)?;
    number.map_or(Ok(()), |number| pending::poll(Until::Item(number)))?;
    state()?.settled(context)
}

/// The context of an event, and the work that records it.
///
/// # Errors
/// `STREAM_CAPTURE_UNSUPPORTED` if the event was recorded in a capture.
fn recorded(event: Handle) -> Result<(Handle, Option<Number>)> {
    let state = state()?;
    let event = state.events.get(event)?;
    if event.captured.is_some() {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    Ok((event.context, event.pending))
}

/// The milliseconds that the host's work between two events took.
pub(crate) fn elapsed(milliseconds: Out<f32>, start: Handle, end: Handle) -> Result {
    let state = state()?;
    let [start, end] = [start, end].map(|event| state.events.get(event));
    let (start, end) = (start?, end?);
    state.usable(start.context)?;
    if start.flags & DISABLE_TIMING != 0 || end.flags & DISABLE_TIMING != 0 {
        return Err(Error::INVALID_HANDLE);
    }
    if [start, end].iter().any(|event| event.pending.is_some_and(|number| state.pending.contains(number))) {
        return Err(Error::NOT_READY);
    }
    let (Some(start), Some(end)) = (start.recorded, end.recorded) else { return Err(Error::INVALID_HANDLE) };
    let seconds =
        end.saturating_duration_since(start).as_secs_f32() - start.saturating_duration_since(end).as_secs_f32();
    milliseconds.set(seconds * 1e3)
}
