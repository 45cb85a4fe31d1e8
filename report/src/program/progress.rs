use std::cell::RefCell;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on stderr with one step per stage. Prints lines if stderr is not a terminal.
pub(super) struct Progress {
    stages: &'static [&'static str],
    bar: ProgressBar,
    stage: RefCell<String>,
    start: Instant,
}

impl Progress {
    pub(super) fn new(stages: &'static [&'static str]) -> Self {
        let bar = ProgressBar::new(stages.len() as u64);
        let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} {elapsed} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        Self { stages, bar, stage: RefCell::default(), start: Instant::now() }
    }

    /// Reports that a stage begins or continues with item `what`.
    pub(super) fn stage(&self, stage: &str, what: &str) {
        let index = self.stages.iter().position(|known| *known == stage).unwrap_or_default();
        self.bar.set_position(index as u64);
        let line = if what.is_empty() { stage.to_owned() } else { format!("{stage}: {what}") };
        if self.bar.is_hidden() && *self.stage.borrow() != line {
            command_line::note!("[*] {:5.1} s, {line}", self.start.elapsed().as_secs_f64());
        }
        self.stage.replace(line.clone());
        self.bar.set_message(line);
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
