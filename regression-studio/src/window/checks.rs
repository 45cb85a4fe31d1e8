//! Checks of a finished run, in the background: its variation over the folds of a cross-validation,
//! the errors of boosted trees, and whether the other kind of network is better on the validation
//! part.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use eframe::egui::{self, Context, RichText, Ui};

use super::action::Action;
use super::task::{Panicked, Stop, Task};
use super::{number, theme};
use crate::cross_validation::{self, Repeats, Spread};
use crate::other_kind::{self, Comparison};
use crate::results::{Metrics, Results};
use crate::saved_run::SavedRun;
use crate::settings::NetworkKind;
use crate::{Settings, Table, trees};

/// Maximum number of rows for trying the other kind of network automatically.
pub(crate) const MAX_UNASKED_ROWS: usize = 5000;
/// Valid numbers of folds.
const FOLDS: std::ops::RangeInclusive<usize> = 2..=20;

/// The checks of the shown run.
pub(crate) struct Checks {
    /// Number of folds of the next cross-validation.
    folds: usize,
    working: Option<Working>,
    of_folds: Option<Vec<Results>>,
    of_other: Option<(Comparison, Arc<SavedRun>)>,
    /// The run with added results.
    extended: Option<Arc<SavedRun>>,
    /// Whether the other kind of network was already tried automatically, or need not be.
    pub(crate) has_tried_other: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Self { folds: 5, working: None, of_folds: None, of_other: None, extended: None, has_tried_other: false }
    }
}

/// A check in progress; dropping it stops it.
struct Working {
    text: String,
    /// Progress in thousandths.
    progress: Arc<AtomicU32>,
    _stop: Stop,
    task: Task<Result<Option<Found>, String>>,
}

/// The outcome of a check.
enum Found {
    Folds(Vec<Results>),
    Other(Arc<SavedRun>),
    Trees(Arc<SavedRun>),
}

impl Checks {
    /// The checks for another run, with the same number of folds.
    pub(crate) fn of_next_run(&self) -> Self {
        Self { folds: self.folds, ..Self::default() }
    }

    /// Starts a cross-validation.
    pub(crate) fn cross_validate(&mut self, table: Arc<Table>, settings: &Settings, context: &Context) {
        let (settings, folds, wake) = (settings.clone(), self.folds, context.clone());
        let text = format!("Training on {folds} folds…");
        self.start(text, context, move |cancel, progress| {
            let mut ended = 0;
            let done = |_: usize, _: &Results| {
                ended += 1;
                progress.store((1000 * ended / folds) as u32, Ordering::Relaxed);
                wake.request_repaint();
            };
            let results = cross_validation::run(&table, &settings, Repeats::Folds(folds), cancel, done)?;
            Ok(results.map(Found::Folds))
        });
    }

    /// Starts training the other kind of network.
    pub(crate) fn try_other_kind(&mut self, table: Arc<Table>, settings: &Settings, context: &Context) {
        self.has_tried_other = true;
        let (settings, wake) = (settings.clone(), context.clone());
        let text = format!("Training the {}…", settings.network.kind.other().in_words());
        self.start(text, context, move |cancel, progress| {
            let trained = other_kind::train(&table, &settings, cancel, |snapshot| {
                let done = snapshot.epoch as f32 + snapshot.step as f32 / snapshot.steps.max(1) as f32;
                progress.store((1000.0 * done / snapshot.epochs.max(1) as f32) as u32, Ordering::Relaxed);
                wake.request_repaint();
            })?;
            Ok(trained.map(Found::Other))
        });
    }

    /// Starts fitting boosted trees. This cannot be stopped; if it is canceled, its result is
    /// ignored.
    pub(crate) fn boost_trees(&mut self, table: Arc<Table>, run: Arc<SavedRun>, context: &Context) {
        self.start("Fitting boosted trees…".to_owned(), context, move |_, _| {
            trees::add(&table, &run).map(|run| Some(Found::Trees(Arc::new(run))))
        });
    }

    /// The run with added results. Returns it only once.
    pub(crate) fn take_extended(&mut self) -> Option<Arc<SavedRun>> {
        self.extended.take()
    }

    fn start(
        &mut self,
        text: String,
        context: &Context,
        work: impl FnOnce(&AtomicBool, &AtomicU32) -> Result<Option<Found>, String> + Send + 'static,
    ) {
        let (progress, stop) = (Arc::new(AtomicU32::new(0)), Stop::default());
        let (of_thread, cancel) = (Arc::clone(&progress), stop.flag());
        let task = Task::start(context, move || work(&cancel, &of_thread));
        self.working = Some(Working { text, progress, _stop: stop, task });
    }

    /// Receives the outcome of a check of this run. Returns an error in one line.
    pub(crate) fn poll(&mut self, run: &SavedRun) -> Option<String> {
        let found = self.working.as_ref()?.task.poll()?;
        self.working = None;
        match found {
            Ok(Ok(Some(Found::Folds(results)))) => self.of_folds = Some(results),
            Ok(Ok(Some(Found::Other(other)))) => {
                self.of_other = Comparison::of(run, &other).map(|comparison| (comparison, other));
            }
            Ok(Ok(Some(Found::Trees(run)))) => self.extended = Some(run),
            Ok(Ok(None)) => {}
            Ok(Err(message)) => return Some(message),
            Err(Panicked) => return Some("the checking thread ended unexpectedly".to_owned()),
        }
        None
    }

    /// Whether a check is in progress.
    pub(crate) fn is_working(&self) -> bool {
        self.working.is_some()
    }

    /// The run with the other kind of network, if it is better.
    pub(crate) fn better(&self) -> Option<&Arc<SavedRun>> {
        self.of_other.as_ref().filter(|(comparison, _)| comparison.is_other_better()).map(|(_, run)| run)
    }

    /// Draws the result for the other kind of network, the buttons, the progress and the
    /// cross-validation. `disabled` is the reason why no check can start. Returns the user's chosen
    /// action.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        kind: NetworkKind,
        has_trees: bool,
        disabled: Option<&str>,
    ) -> Option<Action> {
        let mut action = None;
        if let Some((comparison, _)) = &self.of_other {
            ui.add(egui::Label::new(comparison.in_words()).wrap());
        }
        if let Some(working) = &self.working {
            ui.horizontal(|ui| {
                let share = working.progress.load(Ordering::Relaxed) as f32 / 1000.0;
                // Boosted trees do not report progress.
                match share > 0.0 {
                    true => ui.add(egui::ProgressBar::new(share).desired_width(80.0).desired_height(8.0)),
                    false => ui.spinner(),
                };
                ui.add(egui::Label::new(&working.text).truncate());
            });
            if ui.button("Stop the check").clicked() {
                self.working = None;
            }
            return None;
        }
        let button = |ui: &mut Ui, of: Action, text: &str| {
            let tooltip = of.tooltip(ui.ctx());
            let response = ui.add_enabled(disabled.is_none(), egui::Button::new(text)).on_hover_text(&tooltip);
            let reason = disabled.unwrap_or_default();
            response.on_disabled_hover_text(format!("{tooltip}\n{reason}")).clicked()
        };
        ui.horizontal_wrapped(|ui| {
            if !has_trees && button(ui, Action::BoostTrees, Action::BoostTrees.label()) {
                action = Some(Action::BoostTrees);
            }
            if button(ui, Action::CrossValidate, Action::CrossValidate.label()) {
                action = Some(Action::CrossValidate);
            }
            let folds = egui::DragValue::new(&mut self.folds).range(FOLDS).suffix(" folds");
            ui.add_enabled(disabled.is_none(), folds).on_hover_text("Number of folds, 2 to 20");
            if self.of_other.is_none()
                && button(ui, Action::TryOtherKind, &format!("Try the {}", kind.other().in_words()))
            {
                action = Some(Action::TryOtherKind);
            }
        });
        if let Some(results) = &self.of_folds {
            show_spreads(ui, results);
        }
        action
    }
}

/// Shows mean and standard deviation over the folds' test parts.
fn show_spreads(ui: &mut Ui, results: &[Results]) {
    let palette = theme::palette(ui);
    let title = format!("Test parts of {} folds, mean ± standard deviation", results.len());
    ui.label(RichText::new(title).small().color(palette.grey));
    let Some(first) = results.first() else { return };
    egui::Grid::new("folds").num_columns(4).spacing([14.0, 2.0]).show(ui, |ui| {
        for title in ["model", "R²", "RMSE", "MAE"] {
            ui.label(RichText::new(title).small().color(palette.grey));
        }
        ui.end_row();
        for (index, (name, _)) in first.parts[2].models().into_iter().enumerate() {
            let spread = |figure: fn(&Metrics) -> f64| {
                let Spread { mean, deviation } = Spread::of_tests(results, |test| figure(test.models()[index].1));
                format!("{} ± {}", number::short(mean), number::short(deviation))
            };
            let cells = [name.to_owned(), spread(|of| of.r2), spread(|of| of.rmse), spread(|of| of.mae)];
            for cell in cells {
                let text = RichText::new(cell);
                ui.label(if index == 0 { text.strong() } else { text.color(palette.grey) });
            }
            ui.end_row();
        }
    });
    if let Some(Spread { mean, deviation }) = Spread::of_coverages(results) {
        let [mean, deviation] = [mean, deviation].map(|share| 100.0 * share);
        ui.label(
            RichText::new(format!("90 % intervals: {mean:.1} ± {deviation:.1} % of the test rows within"))
                .small()
                .weak(),
        );
    }
}
