//! Frame times: if `REGRESSION_STUDIO_FRAME_TIMES=1`, prints them when the window closes.

use std::time::{Duration, Instant};

use eframe::egui::Ui;

use super::App;

/// The environment variable that enables the measurement.
pub(super) const VARIABLE: &str = "REGRESSION_STUDIO_FRAME_TIMES";

/// The first seconds are measured separately: their frames draw all characters for the first time,
/// whatever the table.
const START: Duration = Duration::from_secs(3);

/// The window with timed frames; times in milliseconds.
pub(super) struct Timed {
    app: App,
    /// The time of opening, and the slowest layout of the first seconds.
    opened: Instant,
    slowest_of_start: f32,
    /// Layout of this program's views.
    views: Vec<f32>,
    /// A whole frame as measured by eframe: views, tessellation, painting.
    whole: Vec<f32>,
    /// Start of the previous frame.
    since: Option<Instant>,
    /// Intervals between the starts of consecutive frames; the window repaints continuously.
    between: Vec<f32>,
}

impl Timed {
    pub(super) fn new(app: App) -> Self {
        let (opened, slowest_of_start) = (Instant::now(), 0.0);
        Self { app, opened, slowest_of_start, views: Vec::new(), whole: Vec::new(), since: None, between: Vec::new() }
    }
}

impl eframe::App for Timed {
    fn ui(&mut self, ui: &mut Ui, frame: &mut eframe::Frame) {
        let start = Instant::now();
        self.app.show(ui);
        ui.ctx().request_repaint();
        let views = milliseconds(start.elapsed());
        if self.opened.elapsed() < START {
            self.slowest_of_start = self.slowest_of_start.max(views);
            return;
        }
        if let Some(since) = self.since.replace(start) {
            self.between.push(milliseconds(start - since));
            self.whole.extend(frame.info().cpu_usage.map(|seconds| 1000.0 * seconds));
        }
        self.views.push(views);
    }

    fn on_exit(&mut self, _: Option<&eframe::glow::Context>) {
        command_line::note!("the first {} s: slowest views {:.1} ms", START.as_secs(), self.slowest_of_start);
        for (name, times) in
            [("views", &mut self.views), ("whole frame", &mut self.whole), ("frame interval", &mut self.between)]
        {
            times.sort_by(f32::total_cmp);
            let at = |share: f32| times.get(((times.len().max(1) - 1) as f32 * share) as usize).copied().unwrap_or(0.0);
            command_line::note!(
                "{name}: {} frames, median {:.1} ms, 99 % within {:.1} ms, slowest {:.1} ms",
                times.len(),
                at(0.5),
                at(0.99),
                at(1.0)
            );
        }
    }
}

fn milliseconds(duration: Duration) -> f32 {
    1000.0 * duration.as_secs_f32()
}
