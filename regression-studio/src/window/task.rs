//! A value that a thread computes, for which no frame waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, TryRecvError};

use eframe::egui::Context;

/// A value that a thread computes.
pub(crate) struct Task<T>(mpsc::Receiver<T>);

/// The thread has panicked, which is a bug in this program.
#[derive(Debug)]
pub(crate) struct Panicked;

/// Tells a thread to stop when it is dropped.
#[derive(Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// What the thread looks at: true once it is to stop.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Requests a repaint when it is dropped, in a panic too.
pub(crate) struct Wake(pub(crate) Context);

impl Drop for Wake {
    fn drop(&mut self) {
        self.0.request_repaint();
    }
}

impl<T: Send + 'static> Task<T> {
    /// Starts a thread, which requests a repaint at its end.
    pub(crate) fn start(context: &Context, compute: impl FnOnce() -> T + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel();
        let wake = Wake(context.clone());
        std::thread::spawn(move || {
            // Dropped after the sender, so that the frame that it requests sees the end.
            let _wake = wake;
            let sender = sender;
            // The receiver is gone if the window was closed.
            let _ = sender.send(compute());
        });
        Self(receiver)
    }

    /// The value, once, if the thread has ended.
    pub(crate) fn poll(&self) -> Option<Result<T, Panicked>> {
        match self.0.try_recv() {
            Ok(value) => Some(Ok(value)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(Panicked)),
        }
    }
}
