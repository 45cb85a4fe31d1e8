//! A test harness for the window without a display.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use regression_studio::Settings;
use regression_studio::settings::DataSettings;
use regression_studio::window::{App, Options};

/// Timeout of [`Window::wait_until`].
const TIMEOUT: Duration = Duration::from_secs(120);

/// The window under test.
pub(crate) struct Window(Harness<'static, Option<App>>);

/// Settings for a run that takes a few milliseconds.
pub(crate) fn small() -> Settings {
    let mut settings = Settings { data: DataSettings::market(600, 1), ..Settings::default() };
    settings.network.hidden = vec![4];
    settings.training.epochs = 3;
    settings.training.batch_size = 64;
    settings.training.threads = Some(1);
    settings
}

impl Window {
    /// Opens a window and waits until its data are loaded.
    pub(crate) fn open(settings: Settings) -> Self {
        let mut window = Self::of(settings);
        window.wait_until("the data are loaded", |window| {
            window.shows("Synthetic market data") && !window.shows("Cancel")
        });
        window
    }

    /// Opens a window that starts loading its data. It keeps no copies of unsaved runs.
    pub(crate) fn of(settings: Settings) -> Self {
        let runs_folder = PathBuf::from("/nowhere");
        let tries_other_kind = false;
        Self::with(settings, Options { uses_system_dialogs: false, tries_other_kind, runs_folder, copies_folder: None })
    }

    /// Like [`Window::open`], but tries the other kind of network after a run.
    pub(crate) fn that_tries_other_kind(settings: Settings) -> Self {
        let (runs_folder, tries_other_kind) = (PathBuf::from("/nowhere"), true);
        let options = Options { uses_system_dialogs: false, tries_other_kind, runs_folder, copies_folder: None };
        let mut window = Self::with(settings, options);
        window.wait_until("the data are loaded", |window| !window.shows("Cancel"));
        window
    }

    /// Opens a window with these options.
    pub(crate) fn with(settings: Settings, options: Options) -> Self {
        let builder = Harness::builder().with_size([1280.0, 1700.0]);
        let harness = builder.build_ui_state(
            move |ui, app: &mut Option<App>| {
                app.get_or_insert_with(|| App::new(ui.ctx(), settings.clone(), options.clone())).show(ui);
            },
            None,
        );
        Self(harness)
    }

    /// Runs frames until `holds` returns true.
    pub(crate) fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        self.0.step();
        while !holds(self) {
            assert!(start.elapsed() < TIMEOUT, "timeout before {what}");
            std::thread::sleep(Duration::from_millis(5));
            self.0.step();
        }
        self.0.step();
    }

    /// Runs four frames.
    pub(crate) fn step(&mut self) {
        self.0.run_steps(4);
    }

    /// Whether a widget has this label.
    pub(crate) fn shows(&self, label: &str) -> bool {
        self.0.query_all_by_label(label).next().is_some()
    }

    /// Whether a widget's label contains `part`.
    pub(crate) fn shows_part(&self, part: &str) -> bool {
        self.0.query_all_by_label_contains(part).next().is_some()
    }

    /// Clicks the widget with this label.
    pub(crate) fn click(&mut self, label: &str) {
        self.0.get_by_label(label).click();
        self.step();
    }

    /// Chooses a value from a drop-down list.
    pub(crate) fn choose(&mut self, list: &str, value: &str) {
        self.0.get_by_role_and_label(Role::ComboBox, list).click();
        self.step();
        self.0.get_by_role_and_label(Role::Button, value).click();
        self.step();
    }

    /// Clicks a check box.
    pub(crate) fn check(&mut self, label: &str) {
        self.0.get_by_role_and_label(Role::CheckBox, label).click();
        self.step();
    }

    /// Clicks the first widget with a label that contains `part`.
    pub(crate) fn click_part(&mut self, part: &str) {
        self.0.query_all_by_label_contains(part).next().expect("a widget with this part of its label").click();
        self.step();
    }

    /// Increases the value of a slider by one step.
    pub(crate) fn nudge(&mut self, slider: &str) {
        self.0.get_by_role_and_label(Role::Slider, slider).focus();
        self.step();
        self.0.key_press(Key::ArrowRight);
        self.step();
    }

    /// Whether a button is enabled.
    pub(crate) fn is_enabled(&self, button: &str) -> bool {
        !self.0.get_by_role_and_label(Role::Button, button).accesskit_node().is_disabled()
    }

    /// Presses a key with modifiers.
    pub(crate) fn press(&mut self, modifiers: Modifiers, key: Key) {
        self.0.key_press_modifiers(modifiers, key);
        self.step();
    }

    /// Replaces the text of a field.
    pub(crate) fn fill(&mut self, field: &str, text: &str) {
        self.0.get_by_role_and_label(Role::TextInput, field).focus();
        self.step();
        self.0.key_press_modifiers(Modifiers::COMMAND, Key::A);
        self.step();
        match text {
            "" => self.0.key_press(Key::Delete),
            text => self.0.get_by_role_and_label(Role::TextInput, field).type_text(text),
        }
        self.step();
    }

    /// The text of a field.
    pub(crate) fn text_in(&self, field: &str) -> String {
        self.0.get_by_role_and_label(Role::TextInput, field).value().unwrap_or_default()
    }

    /// The label of the focused widget.
    pub(crate) fn focused(&self) -> Option<String> {
        let focused = self.0.root().children_recursive().find(|node| node.is_focused())?;
        focused.accesskit_node().label().or_else(|| focused.value())
    }

    /// The current settings.
    pub(crate) fn settings(&self) -> Settings {
        self.0.state().as_ref().map(|app| app.settings().clone()).unwrap_or_default()
    }

    /// Types a path into the path dialog and confirms it.
    pub(crate) fn type_path(&mut self, hint: &str, path: &std::path::Path, verb: &str) {
        self.fill(hint, &path.display().to_string());
        self.click(verb);
    }

    /// Starts a training run and waits for its end.
    pub(crate) fn train(&mut self) {
        self.click("▶ Start");
        self.wait_until("training has ended", |window| window.shows("Finished") || window.shows("Finished early"));
    }
}

/// Writes a file to `folder` and returns its path.
pub(crate) fn file(folder: &tempfile::TempDir, name: &str, text: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a temporary file");
    path
}
