//! Progress of a training run.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use command_line::{counted, say};
use indicatif::{ProgressBar, ProgressStyle};
use regression_studio::run_folder::RunFolder;
use regression_studio::{Session, Snapshot};

use super::INTERRUPTED;
use super::times::Times;

/// Interval between checkpoints.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

/// Follows a training run until it ends.
pub(super) struct Watch<'a> {
    pub(super) folder: &'a RunFolder,
    pub(super) times: &'a mut Times,
    /// Number of epochs already printed.
    pub(super) shown: usize,
    /// Whether to print findings, notes and epochs.
    pub(super) is_text: bool,
}

/// Why the run must be checked again.
enum Event {
    /// The session published a snapshot.
    Published,
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl Watch<'_> {
    /// Prints the run's epochs, saves it periodically, and stops it on Ctrl-C. Returns the last snapshot.
    pub(super) fn until_end(mut self, session: Session) -> Result<Arc<Snapshot>> {
        let events = events(&session)?;
        let style = ProgressStyle::with_template("training {wide_bar} {percent} %, {msg}");
        let bar = ProgressBar::new(1).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let (mut saved, mut is_prepared): (Option<Instant>, _) = (None, false);
        loop {
            // The timeout covers snapshots published before the callback was set.
            match events.recv_timeout(Duration::from_millis(200)) {
                Ok(Event::Interrupted) => session.stop(),
                Ok(Event::Published) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(session.wait()),
            }
            let snapshot = session.snapshot();
            if !is_prepared && !snapshot.device.is_empty() {
                is_prepared = true;
                self.times.end("to prepare its rows");
                self.print_preparation(&snapshot);
            }
            self.print_epochs(&snapshot, &bar);
            move_bar(&bar, &snapshot);
            if snapshot.state.has_ended() {
                self.times.end("for metrics, intervals and importance");
                bar.finish_and_clear();
                return Ok(snapshot);
            }
            let is_due = save_is_due(saved.map(|saved| saved.elapsed()));
            if let Some(run) = snapshot.run.as_ref().filter(|_| is_due) {
                self.folder.save(run)?;
                saved = Some(Instant::now());
            }
        }
    }

    fn print_preparation(&self, snapshot: &Snapshot) {
        if self.is_text {
            snapshot.findings.iter().for_each(|finding| say!("finding: {finding}"));
            snapshot.notes.iter().for_each(|note| say!("note: {note}"));
            say!("{}, {}", snapshot.device, counted(snapshot.inputs.len(), "input"));
        }
    }

    fn print_epochs(&mut self, snapshot: &Snapshot, bar: &ProgressBar) {
        for record in snapshot.history.iter().skip(self.shown).filter(|_| self.is_text) {
            bar.suspend(|| {
                say!(
                    "Epoch {}, training error {:.4}, validation error {:.4}, {:.2} s.",
                    record.epoch,
                    record.train_rmse,
                    record.validation_rmse,
                    record.seconds
                );
            });
        }
        if snapshot.history.len() > self.shown {
            self.times.end("for the epochs");
        }
        self.shown = snapshot.history.len();
    }
}

/// The events of a session. A second Ctrl-C ends the program.
fn events(session: &Session) -> Result<Receiver<Event>> {
    let (sender, receiver) = channel();
    let on_interrupt = Mutex::new(sender.clone());
    session.set_wake(Box::new(move || {
        let _ = sender.send(Event::Published);
    }));
    let mut is_interrupted = false;
    ctrlc::set_handler(move || {
        if std::mem::replace(&mut is_interrupted, true) {
            std::process::exit(INTERRUPTED.into());
        }
        // After the run, nothing receives the request. The run is already saved.
        if on_interrupt.lock().is_ok_and(|sender| sender.send(Event::Interrupted).is_err()) {
            std::process::exit(INTERRUPTED.into());
        }
    })?;
    Ok(receiver)
}

fn move_bar(bar: &ProgressBar, snapshot: &Snapshot) {
    bar.set_length((snapshot.epochs * snapshot.steps).max(1) as u64);
    bar.set_position((snapshot.epoch * snapshot.steps + snapshot.step) as u64);
    bar.set_message(snapshot.seconds_left.map(|seconds| format!("{seconds:.0} s left")).unwrap_or_default());
}

/// Whether to save the run, given the time since the last save. The first save happens when
/// training starts, so a killed process leaves a run to resume.
fn save_is_due(since_last: Option<Duration>) -> bool {
    since_last.is_none_or(|elapsed| elapsed >= SAVE_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_saved_at_its_start_and_then_every_five_seconds() {
        assert!(save_is_due(None));
        assert!(!save_is_due(Some(Duration::from_millis(4999))));
        assert!(save_is_due(Some(Duration::from_secs(5))));
    }
}
