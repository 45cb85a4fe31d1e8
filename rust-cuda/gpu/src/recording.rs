//! The state of a recording: a thread-local flag, and memory that must outlive the recording.
//!
//! A device and its buffers are not `Send`. A thread-local flag is therefore enough to reject every
//! operation on any device, except the recorder's launches, while launches are recorded and
//! replayed.

use std::any::Any;
use std::cell::{Cell, RefCell};

use crate::Error;

thread_local! {
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// A guard that lives as long as launches are recorded and replayed. Until it is dropped, no buffer
/// of the thread is freed, and only these launches access buffers.
pub(crate) struct Recording(());

impl Recording {
    pub(crate) fn begin() -> Result<Self, Error> {
        forbid("replay")?;
        IS_RECORDING.set(true);
        Ok(Self(()))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        IS_RECORDING.set(false);
        drop(KEPT.take());
    }
}

/// Returns [`Error::Recording`] while launches are recorded.
pub(crate) fn forbid(operation: &'static str) -> Result<(), Error> {
    if IS_RECORDING.get() { Err(Error::Recording { operation }) } else { Ok(()) }
}

/// Drops `memory`. During a recording it is dropped only at the end, because the recorded launches
/// may use it.
pub(crate) fn drop_after_recording(memory: impl Any) {
    if IS_RECORDING.get() {
        KEPT.with_borrow_mut(|kept| kept.push(Box::new(memory)));
    }
}
