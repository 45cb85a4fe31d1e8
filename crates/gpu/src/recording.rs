//! Whether launches are recorded on this thread, and what a recording needs.
//!
//! A device and its buffers stay on their thread. So the thread's flag is enough to refuse, while launches are recorded,
//! all that is not a launch of the recorder, on whichever device.

use std::any::Any;
use std::cell::{Cell, RefCell};

use crate::Error;

thread_local! {
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, launches are recorded.
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

/// Refuses `operation` while launches are recorded.
pub(crate) fn forbid(operation: &'static str) -> Result<(), Error> {
    if IS_RECORDING.get() { Err(Error::Recording { operation }) } else { Ok(()) }
}

/// Drops `memory`, while launches are recorded after these have been queued: they may use it.
pub(crate) fn drop_after_recording(memory: impl Any) {
    if IS_RECORDING.get() {
        KEPT.with_borrow_mut(|kept| kept.push(Box::new(memory)));
    }
}
