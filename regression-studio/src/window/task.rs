//! A value computed by a thread. No frame waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, TryRecvError};

use eframe::egui::Context;

/// A value computed by a thread.
pub(crate) struct Task<T>(mpsc::Receiver<T>);

/// The thread panicked, which is a bug in this program.
#[derive(Debug)]
pub(crate) struct Panicked;

/// Tells a thread to stop when it is dropped.
#[derive(Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag that the thread checks: true once it must stop.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Requests a repaint when dropped, even during a panic.
pub(crate) struct Wake(pub(crate) Context);

impl Drop for Wake {
    fn drop(&mut self) {
        self.0.request_repaint();
    }
}

impl<T: Send + 'static> Task<T> {
    /// Starts a thread. It requests a repaint at its end.
    pub(crate) fn start(context: &Context, compute: impl FnOnce() -> T + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel();
        let wake = Wake(context.clone());
        std::thread::spawn(move || {
            // Dropped after the sender: the requested frame must see the thread's end.
            let _wake = wake;
            let sender = sender;
            // The receiver is gone if the window was closed.
            let _ = sender.send(compute());
        });
        Self(receiver)
    }

    /// The value, if the thread has ended. Returns it only once.
    pub(crate) fn poll(&self) -> Option<Result<T, Panicked>> {
        match self.0.try_recv() {
            Ok(value) => Some(Ok(value)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(Panicked)),
        }
    }
}
