//! Frame times: with `REGRESSION_STUDIO_FRAME_TIMES=1`, they are printed when the window closes.

use std::time::{Duration, Instant};

use eframe::egui::Ui;

use super::App;

/// The environment variable that enables the measurement.
pub(super) const VARIABLE: &str = "REGRESSION_STUDIO_FRAME_TIMES";

/// The window with timed frames; times in milliseconds.
pub(super) struct Timed {
    app: App,
    /// Layout of this program's views.
    views: Vec<f32>,
    /// A whole frame as eframe measures it: views, tessellation, painting.
    whole: Vec<f32>,
    /// Start of the previous frame.
    since: Option<Instant>,
    /// Intervals between the starts of consecutive frames; the window repaints continuously.
    between: Vec<f32>,
}

impl Timed {
    pub(super) fn new(app: App) -> Self {
        Self { app, views: Vec::new(), whole: Vec::new(), since: None, between: Vec::new() }
    }
}

impl eframe::App for Timed {
    fn ui(&mut self, ui: &mut Ui, frame: &mut eframe::Frame) {
        let start = Instant::now();
        if let Some(since) = self.since.replace(start) {
            self.between.push(milliseconds(start - since));
        }
        self.app.show(ui);
        self.views.push(milliseconds(start.elapsed()));
        self.whole.extend(frame.info().cpu_usage.map(|seconds| 1000.0 * seconds));
        ui.ctx().request_repaint();
    }

    fn on_exit(&mut self, _: Option<&eframe::glow::Context>) {
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
