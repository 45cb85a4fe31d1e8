//! A window without a display.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use regression_studio::Settings;
use regression_studio::settings::Source;
use regression_studio::window::App;

/// The longest that anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A window.
pub(crate) struct Window(Harness<'static, Option<App>>);

/// Settings of a training that ends in no time.
pub(crate) fn small() -> Settings {
    let mut settings = Settings::default();
    settings.data.source = Source::Synthetic { rows: 600, seed: 1 };
    settings.network.hidden = vec![4];
    settings.training.epochs = 3;
    settings.training.batch_size = 64;
    settings.training.threads = Some(1);
    settings
}

impl Window {
    /// A window that has loaded its data.
    pub(crate) fn open(settings: Settings) -> Self {
        let mut window = Self::of(settings);
        window.wait_until("the data are there", |window| {
            window.shows("Built-in stock market") && !window.shows("Cancel")
        });
        window
    }

    /// A window in its first frame.
    pub(crate) fn of(settings: Settings) -> Self {
        let builder = Harness::builder().with_size([1280.0, 1700.0]);
        let harness = builder.build_ui_state(
            move |ui, app: &mut Option<App>| {
                app.get_or_insert_with(|| App::new(ui.ctx(), settings.clone(), false)).show(ui);
            },
            None,
        );
        Self(harness)
    }

    /// Frames until something holds.
    pub(crate) fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        self.0.step();
        while !holds(self) {
            assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(5));
            self.0.step();
        }
        self.0.step();
    }

    /// Some frames.
    pub(crate) fn step(&mut self) {
        self.0.run_steps(4);
    }

    /// Whether something has this label.
    pub(crate) fn shows(&self, label: &str) -> bool {
        self.0.query_all_by_label(label).next().is_some()
    }

    /// Whether some label contains this.
    pub(crate) fn shows_part(&self, part: &str) -> bool {
        self.0.query_all_by_label_contains(part).next().is_some()
    }

    /// Presses a button, or whatever has this label.
    pub(crate) fn click(&mut self, label: &str) {
        self.0.get_by_label(label).click();
        self.step();
    }

    /// Whether a button can be pressed.
    pub(crate) fn is_enabled(&self, button: &str) -> bool {
        !self.0.get_by_role_and_label(Role::Button, button).accesskit_node().is_disabled()
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, modifiers: Modifiers, key: Key) {
        self.0.key_press_modifiers(modifiers, key);
        self.step();
    }

    /// Replaces what stands in a field.
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

    /// What stands in a field.
    pub(crate) fn text_in(&self, field: &str) -> String {
        self.0.get_by_role_and_label(Role::TextInput, field).value().unwrap_or_default()
    }

    /// What of these kind is focused: its label.
    pub(crate) fn focused(&self) -> Option<String> {
        let focused = self.0.root().children_recursive().find(|node| node.is_focused())?;
        focused.accesskit_node().label().or_else(|| focused.value())
    }

    /// What the settings are now.
    pub(crate) fn settings(&self) -> Settings {
        self.0.state().as_ref().map(|app| app.settings().clone()).unwrap_or_default()
    }

    /// Opens a file or a folder by typing its path.
    pub(crate) fn type_path(&mut self, hint: &str, path: &std::path::Path, verb: &str) {
        self.fill(hint, &path.display().to_string());
        self.click(verb);
    }

    /// Starts a training, and waits for its end.
    pub(crate) fn train(&mut self) {
        self.click("▶ Start");
        self.wait_until("the training has ended", |window| window.shows("Finished") || window.shows("Finished early"));
    }
}

/// A file with this text.
pub(crate) fn file(folder: &tempfile::TempDir, name: &str, text: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a temporary file");
    path
}
