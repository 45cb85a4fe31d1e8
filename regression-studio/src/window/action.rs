//! The actions with their keys and labels.

use eframe::egui::{Context, Key, KeyboardShortcut, Modifiers};

/// The views of the central panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    /// The table's rows.
    Data,
    /// Findings to decide on before training.
    Findings,
    /// The training run and its results.
    Training,
    /// Predictions with the run's network.
    Predict,
    /// Comparison of runs.
    Compare,
    /// A search for settings.
    Search,
}

/// A user's action, by mouse or keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    OpenData,
    BuiltIn,
    ReadAgain,
    /// Reads the workbook's sheet with this index.
    ReadSheet(usize),
    CancelLoading,
    Start,
    Pause,
    Resume,
    Step,
    Stop,
    OpenRun,
    SaveRun,
    UseLogarithms,
    TrainLonger,
    BoostTrees,
    CrossValidate,
    TryOtherKind,
    SwitchKind,
    Search,
    PredictLoaded,
    PredictFile,
    SavePredictions,
    Undo,
    Redo,
    Reset,
    Show(Tab),
    SwitchTheme,
    Help,
    Quit,
}

const CTRL: Modifiers = Modifiers::COMMAND;
const CTRL_SHIFT: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };

/// All keyboard shortcuts. A shortcut with Shift precedes the same one without Shift, which would
/// match too.
pub(crate) const KEYS: [(KeyboardShortcut, Action); 24] = [
    (KeyboardShortcut::new(CTRL_SHIFT, Key::O), Action::OpenRun),
    (KeyboardShortcut::new(CTRL, Key::O), Action::OpenData),
    (KeyboardShortcut::new(CTRL, Key::S), Action::SaveRun),
    (KeyboardShortcut::new(CTRL_SHIFT, Key::Z), Action::Redo),
    (KeyboardShortcut::new(CTRL, Key::Z), Action::Undo),
    (KeyboardShortcut::new(Modifiers::SHIFT, Key::F5), Action::Stop),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F5), Action::Start),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F6), Action::Pause),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F7), Action::Resume),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F8), Action::Step),
    (KeyboardShortcut::new(Modifiers::SHIFT, Key::F9), Action::Search),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F9), Action::CrossValidate),
    (KeyboardShortcut::new(Modifiers::SHIFT, Key::F10), Action::SwitchKind),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F10), Action::TryOtherKind),
    (KeyboardShortcut::new(CTRL, Key::Num1), Action::Show(Tab::Data)),
    (KeyboardShortcut::new(CTRL, Key::Num2), Action::Show(Tab::Findings)),
    (KeyboardShortcut::new(CTRL, Key::Num3), Action::Show(Tab::Training)),
    (KeyboardShortcut::new(CTRL, Key::Num4), Action::Show(Tab::Predict)),
    (KeyboardShortcut::new(CTRL, Key::Num5), Action::Show(Tab::Compare)),
    (KeyboardShortcut::new(CTRL, Key::Num6), Action::Show(Tab::Search)),
    (KeyboardShortcut::new(CTRL, Key::D), Action::SwitchTheme),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F1), Action::Help),
    (KeyboardShortcut::new(CTRL, Key::Q), Action::Quit),
    (KeyboardShortcut::new(Modifiers::NONE, Key::Escape), Action::CancelLoading),
];

impl Action {
    /// Label of its button.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::OpenData => "Open file…",
            Self::BuiltIn => "Demo: rents",
            Self::ReadAgain => "Read again",
            Self::ReadSheet(_) => "Sheet",
            Self::CancelLoading => "Cancel",
            Self::Start => "▶ Start",
            Self::Pause => "⏸ Pause",
            Self::Resume => "▶ Resume",
            Self::Step => "⏭ Step",
            Self::Stop => "⏹ Stop",
            Self::OpenRun => "Open run…",
            Self::SaveRun => "Save run…",
            Self::UseLogarithms => "Use logarithms and retrain",
            Self::TrainLonger => "Still improving: train longer",
            Self::BoostTrees => "Boosted trees",
            Self::CrossValidate => "Cross-validate",
            Self::TryOtherKind => "Try the other kind",
            Self::SwitchKind => "Switch to the better kind",
            Self::Search => "Search",
            Self::PredictLoaded => "Predict the loaded table",
            Self::PredictFile => "Predict a file…",
            Self::SavePredictions => "Save predictions…",
            Self::Undo => "Undo",
            Self::Redo => "Redo",
            Self::Reset => "Reset",
            Self::Show(Tab::Data) => "Data",
            Self::Show(Tab::Findings) => "Findings",
            Self::Show(Tab::Training) => "Training",
            Self::Show(Tab::Predict) => "Predict",
            Self::Show(Tab::Compare) => "Compare runs",
            Self::Show(Tab::Search) => "Find settings",
            Self::SwitchTheme => "Switch theme",
            Self::Help => "Keys",
            Self::Quit => "Quit",
        }
    }

    /// Explanation for its tooltip and the list of keys.
    pub(crate) fn explanation(self) -> &'static str {
        match self {
            Self::OpenData => "Open a table: .csv, .xlsx or .ods",
            Self::BuiltIn => "Load the demo: synthetic rents of flats",
            Self::ReadAgain => "Read the table again, by what is declared about it",
            Self::ReadSheet(_) => "Read another sheet of the workbook",
            Self::CancelLoading => "Cancel loading and keep the current data",
            Self::Start => "Start a training run with the settings on the left",
            Self::Pause => "Pause training after the current step",
            Self::Resume => "Resume a paused or stopped run",
            Self::Step => "Train one epoch, then pause; starts a run if there is none",
            Self::Stop => "Stop training; the best epoch's weights are kept and evaluated",
            Self::OpenRun => "Open a saved run, to view, compare or resume it",
            Self::SaveRun => "Save settings, curves, plots and the trained model to a folder",
            Self::UseLogarithms => "Take the logarithm of columns that span several powers of ten, and train again",
            Self::TrainLonger => "The error was still falling: go on for as many epochs again",
            Self::BoostTrees => {
                "Fit gradient-boosted trees on at most 50,000 training rows: their errors beside the network's"
            }
            Self::CrossValidate => "Train once for each fold, tested on it: mean and spread of the errors",
            Self::TryOtherKind => "Train the other kind of network, and compare both on the validation part",
            Self::SwitchKind => "Show the run of the other kind of network, which is trained, and use it from now on",
            Self::Search => {
                "Train with many random layers, learning rates and weight decays, and rank them by the validation error"
            }
            Self::PredictLoaded => "Predict every row of the table that is loaded",
            Self::PredictFile => "Open another table and predict its rows",
            Self::SavePredictions => "Save the predictions as CSV: row, prediction, and true value if there is one",
            Self::Undo => "Undo the last change of a setting",
            Self::Redo => "Make an undone change again",
            Self::Reset => "Set all settings except data set, target and features to their defaults",
            Self::Show(Tab::Data) => "Show the table's rows",
            Self::Show(Tab::Findings) => "Show what to decide before training, and how the file was read",
            Self::Show(Tab::Training) => "Show network, curves and results",
            Self::Show(Tab::Predict) => "Predict rows with the trained network, and vary one row",
            Self::Show(Tab::Compare) => "Compare curves, settings and results of up to six runs",
            Self::Show(Tab::Search) => "Search for layers, learning rate and weight decay",
            Self::SwitchTheme => "Switch between light and dark theme",
            Self::Help => "List all keys",
            Self::Quit => "Close the window",
        }
    }

    /// Its keyboard shortcut.
    pub(crate) fn key(self) -> Option<&'static KeyboardShortcut> {
        KEYS.iter().find(|(_, action)| *action == self).map(|(key, _)| key)
    }

    /// Explanation and key.
    pub(crate) fn tooltip(self, context: &Context) -> String {
        match self.key() {
            Some(key) => format!("{} ({})", self.explanation(), context.format_shortcut(key)),
            None => self.explanation().to_owned(),
        }
    }
}

/// The action for the pressed key. Escape is an action only while data are loading. Undo and redo
/// are actions only outside text fields, which undo their own changes.
pub(crate) fn pressed(context: &Context, is_loading: bool) -> Option<Action> {
    let is_typing = context.egui_wants_keyboard_input();
    let is_active = |action| match action {
        Action::CancelLoading => is_loading,
        Action::Undo | Action::Redo => !is_typing,
        _ => true,
    };
    context.input_mut(|input| {
        let pressed = KEYS.iter().find(|(key, action)| is_active(*action) && input.consume_shortcut(key));
        pressed.map(|(_, action)| *action)
    })
}
