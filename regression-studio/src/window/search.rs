//! The search for settings in the window: error curves of its runs as small multiples, and a table
//! of the runs, best first.

mod multiples;
mod ranking;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eframe::egui::{self, Context, RichText, Ui};

use super::action::Action;
use super::task::{Panicked, Stop, Task};
use super::{number, theme};
use crate::results::EpochErrors;
use crate::search::{Trials, Tried, ranked, settings_of_run};
use crate::{Settings, Snapshot, Table};

/// Valid numbers of runs, the same as on the command line.
const RUNS: std::ops::RangeInclusive<usize> = 1..=10_000;
/// Minimum interval between repaints caused by new snapshots.
const REPAINT_INTERVAL: Duration = Duration::from_millis(100);

/// The shown search.
pub(super) struct Search {
    /// Number of runs of the next search.
    runs: usize,
    shown: Option<Arc<Shown>>,
    working: Option<Working>,
}

impl Default for Search {
    fn default() -> Self {
        Self { runs: 100, shown: None, working: None }
    }
}

/// A search that was started, shared by its threads and the window.
struct Shown {
    table: Arc<Table>,
    /// The settings of the first run, including the ranges.
    settings: Settings,
    /// The runs that have begun, by their number.
    runs: Mutex<BTreeMap<usize, Run>>,
}

/// A run of the search.
#[derive(Clone, Default)]
struct Run {
    history: Arc<Vec<EpochErrors>>,
    /// The record of the run, once it has ended.
    tried: Option<Tried>,
}

/// A search in progress; dropping it stops it.
struct Working {
    /// The number of runs.
    wanted: usize,
    _stop: Stop,
    task: Task<Result<(), String>>,
}

/// The user's choice.
pub(super) enum Chosen {
    /// Start the search, or continue it.
    Search,
    /// Use the settings of this run.
    Use(usize, Box<Settings>),
}

impl Shown {
    fn change(&self, run: usize, change: impl FnOnce(&mut Run)) {
        change(self.runs.lock().unwrap_or_else(PoisonError::into_inner).entry(run).or_default());
    }

    fn runs(&self) -> BTreeMap<usize, Run> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Removes the runs that have not ended.
    fn keep_ended(&self) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, run| run.tried.is_some());
    }

    /// Trains the unfinished ones among the first `wanted` runs.
    fn train(&self, wanted: usize, cancel: &AtomicBool, context: &Context) -> Result<(), String> {
        let ended = self.runs().into_values().filter_map(|run| run.tried).collect();
        let trials = Trials::new(&self.table, &self.settings, ended);
        let mut trials = trials.map_err(|error| error.to_string())?;
        let watch = |run: usize, snapshot: &Snapshot| {
            self.change(run, |shown| shown.history = Arc::clone(&snapshot.history));
            context.request_repaint_after(REPAINT_INTERVAL);
        };
        let keep = |tried: &Tried| {
            self.change(tried.run, |shown| shown.tried = Some(tried.clone()));
            context.request_repaint();
            Ok(())
        };
        let trained = trials.train(&self.table, wanted, cancel, watch, keep);
        self.keep_ended();
        trained.map(|_| ()).map_err(|error| error.to_string())
    }
}

impl Search {
    /// Starts a search, or continues the shown one if it has the same table and settings.
    pub(super) fn start(&mut self, table: &Arc<Table>, settings: &Settings, context: &Context) {
        let is_same = |shown: &&Arc<Shown>| Arc::ptr_eq(&shown.table, table) && shown.settings == *settings;
        let shown = self.shown.as_ref().filter(is_same).map(Arc::clone).unwrap_or_else(|| {
            let (table, settings) = (Arc::clone(table), settings.clone());
            Arc::new(Shown { table, settings, runs: Mutex::default() })
        });
        let (wanted, stop, of_thread) = (self.runs, Stop::default(), Arc::clone(&shown));
        let (cancel, wake) = (stop.flag(), context.clone());
        let task = Task::start(context, move || of_thread.train(wanted, &cancel, &wake));
        self.shown = Some(shown);
        self.working = Some(Working { wanted, _stop: stop, task });
    }

    /// Whether a search is in progress.
    pub(super) fn is_working(&self) -> bool {
        self.working.is_some()
    }

    /// Detects the end of the search. Returns an error in one line.
    pub(super) fn poll(&mut self) -> Option<String> {
        let ended = self.working.as_ref()?.task.poll()?;
        self.working = None;
        match ended {
            Ok(ended) => ended.err(),
            Err(Panicked) => Some("the searching thread ended unexpectedly".to_owned()),
        }
    }

    /// Draws the search. `why_not` is the reason why no search can start. `is_training` is whether
    /// a run is in progress; the form cannot change during a run.
    pub(super) fn show(&mut self, ui: &mut Ui, why_not: Option<&str>, is_training: bool) -> Option<Chosen> {
        let mut chosen = None;
        theme::card(ui, |ui| {
            ui.set_min_size(ui.available_size());
            let runs = self.shown.as_ref().map(|shown| shown.runs()).unwrap_or_default();
            let tried = ranked(runs.values().filter_map(|run| run.tried.as_ref()));
            chosen = self.buttons(ui, tried.len(), why_not);
            let Some(shown) = &self.shown else {
                ui.label(
                    "The search trains with random layers, learning rates and weight decays, and ranks them by the validation error. Run 1 has the \
                     settings on the left. The test part is not used.",
                );
                return;
            };
            let best = tried.first().filter(|best| best.validation.is_some()).map(|best| best.run);
            ui.label(summary(&tried));
            let use_button = |ui: &mut Ui, text: String| {
                let button = ui.add_enabled(!is_training, egui::Button::new(text));
                button.on_disabled_hover_text("Training is running: stop it to change settings.").clicked()
            };
            let mut used = None;
            if let Some(best) = best
                && use_button(ui, format!("Use the settings of run {best}"))
            {
                used = Some(best);
            }
            ui.add_space(4.0);
            let height = (ui.available_height() * 0.45).max(120.0);
            ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
                used = used.or(ranking::show(ui, &tried, is_training));
            });
            ui.add_space(4.0);
            multiples::show(ui, &runs, best);
            if let Some(run) = used {
                let search = shown.settings.search.clone();
                let settings = Settings { search, ..settings_of_run(&shown.settings, run) };
                chosen = Some(Chosen::Use(run, Box::new(settings)));
            }
        });
        chosen
    }

    /// The start or stop button, the number of runs, and the number of finished ones.
    fn buttons(&mut self, ui: &mut Ui, ended: usize, why_not: Option<&str>) -> Option<Chosen> {
        let mut chosen = None;
        ui.horizontal(|ui| {
            if let Some(working) = &self.working {
                let share = ended as f32 / working.wanted as f32;
                ui.add(egui::ProgressBar::new(share).desired_width(160.0).desired_height(8.0));
                ui.label(format!("{} of {} runs", number::count(ended), number::count(working.wanted)));
                if ui.button("Stop the search").on_hover_text("The runs that have ended are kept").clicked() {
                    self.working = None;
                }
                return;
            }
            let tooltip = Action::Search.tooltip(ui.ctx());
            let button = ui.add_enabled(why_not.is_none(), theme::primary_button(ui, Action::Search.label()));
            let button = button.on_hover_text(&tooltip);
            if button.on_disabled_hover_text(format!("{tooltip}\n{}", why_not.unwrap_or_default())).clicked() {
                chosen = Some(Chosen::Search);
            }
            let runs = egui::DragValue::new(&mut self.runs).range(RUNS).suffix(" runs");
            ui.add(runs).on_hover_text("Number of settings to try. The first 50 of 100 are those of a search of 50.");
            if let Some(reason) = why_not {
                ui.label(RichText::new(format!("⚠ {reason}")).color(theme::palette(ui).red));
            }
        });
        chosen
    }
}

/// A summary of the results so far.
fn summary(tried: &[&Tried]) -> String {
    let count = command_line::counted(tried.len(), "setting");
    match tried.first().map(|best| (best.run, best.validation)) {
        None => "No run has ended yet.".to_owned(),
        Some((_, None)) => format!("{count} tried, and all runs diverged: choose smaller learning rates."),
        Some((run, Some(best))) => format!(
            "{count} tried. Run {run} has the smallest validation error: R² {} there, a little too good, since it was chosen by it. The test part \
             was not used.",
            number::short(best.r2)
        ),
    }
}
