//! Waits for something that another thread or process does.

use std::thread;
use std::time::{Duration, Instant};

/// Maximum wait for an event. On any machine, an event that happens at all happens within this
/// time.
const LIMIT: Duration = Duration::from_secs(300);
/// The polling interval.
const POLL: Duration = Duration::from_millis(2);

/// Waits until `has_happened` returns true.
///
/// # Panics
/// If it has not happened after five minutes. `what` describes the event.
#[track_caller]
pub fn wait_until(what: &str, mut has_happened: impl FnMut() -> bool) {
    wait_for(what, || has_happened().then_some(()));
}

/// Waits until `look` finds something, and returns it.
///
/// # Panics
/// If it finds nothing within five minutes. `what` describes the event.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        // Check the time before the state: a process that was suspended in between checks once
        // more.
        let is_late = start.elapsed() > LIMIT;
        if let Some(found) = look() {
            return found;
        }
        assert!(!is_late, "waited {} s for {what}", LIMIT.as_secs());
        thread::sleep(POLL);
    }
}
