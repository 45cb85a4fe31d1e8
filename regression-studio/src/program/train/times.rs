//! How long the stages of a run take.

use std::time::{Duration, Instant};

/// The time that a user waits for a run, by stage.
pub(super) struct Times {
    start: Instant,
    /// The end of each stage since the start, and its name.
    parts: Vec<(Duration, &'static str)>,
}

impl Times {
    pub(super) fn start() -> Self {
        Self { start: Instant::now(), parts: Vec::new() }
    }

    /// Ends the current stage, which began when the previous one ended. Consecutive stages with the
    /// same name are merged.
    pub(super) fn end(&mut self, part: &'static str) {
        if self.parts.last().is_some_and(|(_, of)| *of == part) {
            self.parts.pop();
        }
        self.parts.push((self.start.elapsed(), part));
    }

    pub(super) fn in_all(&self) -> Duration {
        self.start.elapsed()
    }

    /// The times, as in "5.1 s in all: 1.0 s to read the table, …".
    pub(super) fn in_words(&self) -> String {
        let mut before = Duration::ZERO;
        let part = |&(end, part): &(Duration, &str)| {
            let seconds = (end - std::mem::replace(&mut before, end)).as_secs_f64();
            format!("{seconds:.2} s {part}")
        };
        let parts: Vec<String> = self.parts.iter().map(part).collect();
        format!("{:.2} s in all: {}.", self.in_all().as_secs_f64(), parts.join(", "))
    }
}
