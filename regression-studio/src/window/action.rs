//! What can be done, by which key, and what it is called.

use eframe::egui::{Context, Key, KeyboardShortcut, Modifiers};

/// The views of the window's middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    /// The table's rows.
    Data,
    /// The training as it goes, and what came of it.
    Training,
    /// Two runs side by side.
    Compare,
}

/// What the user can do, by mouse or by keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    OpenData,
    BuiltIn,
    CancelLoading,
    Start,
    Pause,
    Resume,
    Step,
    Stop,
    OpenRun,
    SaveRun,
    Show(Tab),
    SwitchTheme,
    Help,
    Quit,
}

const CTRL: Modifiers = Modifiers::COMMAND;
const CTRL_SHIFT: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };

/// All keys. Where one needs Shift it stands before the same without, which would match too.
pub(crate) const KEYS: [(KeyboardShortcut, Action); 15] = [
    (KeyboardShortcut::new(CTRL_SHIFT, Key::O), Action::OpenRun),
    (KeyboardShortcut::new(CTRL, Key::O), Action::OpenData),
    (KeyboardShortcut::new(CTRL, Key::S), Action::SaveRun),
    (KeyboardShortcut::new(Modifiers::SHIFT, Key::F5), Action::Stop),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F5), Action::Start),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F6), Action::Pause),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F7), Action::Resume),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F8), Action::Step),
    (KeyboardShortcut::new(CTRL, Key::Num1), Action::Show(Tab::Data)),
    (KeyboardShortcut::new(CTRL, Key::Num2), Action::Show(Tab::Training)),
    (KeyboardShortcut::new(CTRL, Key::Num3), Action::Show(Tab::Compare)),
    (KeyboardShortcut::new(CTRL, Key::D), Action::SwitchTheme),
    (KeyboardShortcut::new(Modifiers::NONE, Key::F1), Action::Help),
    (KeyboardShortcut::new(CTRL, Key::Q), Action::Quit),
    (KeyboardShortcut::new(Modifiers::NONE, Key::Escape), Action::CancelLoading),
];

impl Action {
    /// What it is called on its button.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::OpenData => "Open a file…",
            Self::BuiltIn => "Built-in stock market",
            Self::CancelLoading => "Cancel",
            Self::Start => "▶ Start",
            Self::Pause => "⏸ Pause",
            Self::Resume => "▶ Resume",
            Self::Step => "⏭ Step",
            Self::Stop => "⏹ Stop",
            Self::OpenRun => "Open a run…",
            Self::SaveRun => "Save the run…",
            Self::Show(Tab::Data) => "Data",
            Self::Show(Tab::Training) => "Training",
            Self::Show(Tab::Compare) => "Compare runs",
            Self::SwitchTheme => "Light or dark",
            Self::Help => "Keys",
            Self::Quit => "Quit",
        }
    }

    /// What it does, for its tooltip and the list of keys.
    pub(crate) fn explanation(self) -> &'static str {
        match self {
            Self::OpenData => "Opens a table to learn from: .csv, .tsv or .csv.gz",
            Self::BuiltIn => "Takes the stock market that the program makes up",
            Self::CancelLoading => "Stops loading; the data stay as they were",
            Self::Start => "Starts a training with the settings on the left",
            Self::Pause => "Holds the training after the current step",
            Self::Resume => "Goes on with a training that was paused or stopped",
            Self::Step => "Trains one epoch, then pauses; starts a training if there is none",
            Self::Stop => "Ends the training; the best epoch's weights are kept and judged",
            Self::OpenRun => "Opens a run's folder: to look at it, to compare it, to go on",
            Self::SaveRun => "Saves settings, curves, plots and the trained model to a folder",
            Self::Show(Tab::Data) => "Shows the table's rows",
            Self::Show(Tab::Training) => "Shows network, curves and results",
            Self::Show(Tab::Compare) => "Shows two runs' curves, settings and results side by side",
            Self::SwitchTheme => "Switches between light and dark",
            Self::Help => "Lists all keys",
            Self::Quit => "Closes the window; a run that was not saved is lost",
        }
    }

    /// The key that does it.
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

/// The action whose key was pressed. Escape means something only while something is loaded.
pub(crate) fn pressed(context: &Context, is_loading: bool) -> Option<Action> {
    let is_meant = |action| action != Action::CancelLoading || is_loading;
    context.input_mut(|input| {
        let pressed = KEYS.iter().find(|(key, action)| is_meant(*action) && input.consume_shortcut(key));
        pressed.map(|(_, action)| *action)
    })
}
