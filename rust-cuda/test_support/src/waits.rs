//! Waiting for what another thread or process does.

use std::thread;
use std::time::{Duration, Instant};

/// Maximum wait for an event: what comes at all comes by then, on any machine.
const LIMIT: Duration = Duration::from_secs(300);
/// The time between two looks.
const POLL: Duration = Duration::from_millis(2);

/// Waits until `has_happened`.
///
/// # Panics
/// If it has not happened after five minutes; `what` names it.
#[track_caller]
pub fn wait_until(what: &str, mut has_happened: impl FnMut() -> bool) {
    wait_for(what, || has_happened().then_some(()));
}

/// Waits until `look` finds something, and returns it.
///
/// # Panics
/// If there is nothing after five minutes; `what` names it.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        // Asked before the state: a process that was stopped in between looks once more.
        let is_late = start.elapsed() > LIMIT;
        if let Some(found) = look() {
            return found;
        }
        assert!(!is_late, "waited {} s for {what}", LIMIT.as_secs());
        thread::sleep(POLL);
    }
}
