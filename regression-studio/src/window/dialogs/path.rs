//! Dialog for a file or folder path: the system's file dialog, or a text field.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use eframe::egui::{self, Context, Key, RichText, Ui};

use super::dialog;
use crate::window::theme;

/// Purpose of a path dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Open a table.
    OpenData,
    /// Open a run's folder.
    OpenRun,
    /// Save a run to a folder.
    SaveRun,
    /// Open a table to predict its rows.
    PredictFile,
    /// Save predictions to a file.
    SavePredictions,
}

/// A path dialog.
pub(crate) struct PathDialog {
    purpose: Purpose,
    text: String,
    /// The system's dialog, while it is open.
    system: Option<SystemDialog>,
    note: &'static str,
    is_new: bool,
}

struct SystemDialog {
    chosen: mpsc::Receiver<Option<PathBuf>>,
    since: Instant,
}

/// Minimum time that a user takes to close the system's dialog. A dialog that ends sooner could not
/// be shown.
const MIN_USER_TIME: Duration = Duration::from_millis(1500);

impl PathDialog {
    /// Opens the dialog. With `use_system`, also opens the system's file dialog.
    pub(crate) fn new(purpose: Purpose, suggestion: String, use_system: bool, context: &Context) -> Self {
        let mut dialog = Self { purpose, text: suggestion, system: None, note: "", is_new: true };
        if use_system {
            dialog.browse(context);
        }
        dialog
    }

    /// The dialog's purpose.
    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Draws the dialog. Returns `Some` once it has ended: the path, or `None` if it was canceled.
    pub(crate) fn show(&mut self, context: &Context) -> Option<Option<PathBuf>> {
        if let Some(answer) = self.system_answer() {
            return Some(answer);
        }
        let mut answer = None;
        let has_ended = dialog(context, "path", |ui| {
            answer = self.contents(ui);
            answer.is_some()
        });
        has_ended.then_some(answer.flatten())
    }

    fn contents(&mut self, ui: &mut Ui) -> Option<Option<PathBuf>> {
        let (title, hint, verb) = match self.purpose {
            Purpose::OpenData => ("Open file", "Path of a .csv, .xlsx or .ods file", "Open"),
            Purpose::OpenRun => ("Open run", "Path of a run's folder", "Open"),
            Purpose::SaveRun => ("Save run", "Path of a new folder", "Save"),
            Purpose::PredictFile => ("Predict a file", "Path of a .csv, .xlsx or .ods file", "Open"),
            Purpose::SavePredictions => ("Save predictions", "Path of a .csv file", "Save"),
        };
        ui.heading(title);
        ui.add_space(4.0);
        let label = ui.label(hint);
        let edit = ui.horizontal(|ui| {
            let width = ui.available_width() - 104.0;
            let edit = egui::TextEdit::singleline(&mut self.text).desired_width(width).margin(egui::vec2(8.0, 5.0));
            let edit = ui.add(edit).labelled_by(label.id);
            if ui.add_enabled(self.system.is_none(), egui::Button::new("Browse…")).clicked() {
                self.browse(ui.ctx());
            }
            edit
        });
        let edit = edit.inner;
        if std::mem::take(&mut self.is_new) {
            edit.request_focus();
        }
        let note = if self.system.is_some() {
            "The system's file dialog is open; you can also type the path here."
        } else {
            self.note
        };
        if !note.is_empty() {
            ui.label(RichText::new(note).small().weak());
        }
        ui.add_space(8.0);
        let path = self.text.trim();
        let mut answer = None;
        ui.horizontal(|ui| {
            let verb = ui.add_enabled(!path.is_empty(), theme::primary_button(ui, verb));
            let is_entered = edit.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) && !path.is_empty();
            if verb.clicked() || is_entered {
                answer = Some(Some(expand_home(path)));
            }
            if ui.button("Cancel").clicked() {
                answer = Some(None);
            }
        });
        answer
    }

    /// Opens the system's dialog. Some systems require that this thread creates it; another thread
    /// awaits it.
    fn browse(&mut self, context: &Context) {
        let table = |title: &str| {
            let dialog = rfd::AsyncFileDialog::new()
                .set_title(title)
                .add_filter("Tables", &["csv", "tsv", "txt", "gz", "xlsx", "xlsm", "ods"]);
            Box::pin(dialog.add_filter("All files", &["*"]).pick_file())
        };
        let save = |title: &str| {
            let suggested = expand_home(&self.text);
            let mut dialog = rfd::AsyncFileDialog::new().set_title(title);
            if let Some(name) = suggested.file_name() {
                dialog = dialog.set_file_name(name.to_string_lossy());
            }
            // If the folder does not exist yet, the system's dialog would begin elsewhere.
            if let Some(folder) =
                suggested.parent().and_then(|folder| folder.ancestors().find(|folder| folder.is_dir()))
            {
                dialog = dialog.set_directory(folder);
            }
            Box::pin(dialog.save_file())
        };
        let future: std::pin::Pin<Box<dyn Future<Output = Option<rfd::FileHandle>> + Send>> = match self.purpose {
            Purpose::OpenData => table("Open a table"),
            Purpose::PredictFile => table("Open a table to predict"),
            Purpose::OpenRun => Box::pin(rfd::AsyncFileDialog::new().set_title("Open a run's folder").pick_folder()),
            Purpose::SaveRun => save("Save the run to a new folder"),
            Purpose::SavePredictions => save("Save the predictions"),
        };
        let (sender, chosen) = mpsc::channel();
        let context = context.clone();
        std::thread::spawn(move || {
            let path = pollster::block_on(future).map(|handle| handle.path().to_path_buf());
            // The receiver is gone if the user typed a path.
            let _ = sender.send(path);
            context.request_repaint();
        });
        self.system = Some(SystemDialog { chosen, since: Instant::now() });
    }

    /// The answer from the system's dialog, if it has ended. If it could not be shown, the text
    /// field remains.
    fn system_answer(&mut self) -> Option<Option<PathBuf>> {
        let system = self.system.as_ref()?;
        let chosen = match system.chosen.try_recv() {
            Ok(chosen) => chosen,
            Err(mpsc::TryRecvError::Empty) => return None,
            Err(mpsc::TryRecvError::Disconnected) => None,
        };
        let was_shown = system.since.elapsed() > MIN_USER_TIME;
        self.system = None;
        if chosen.is_none() && !was_shown {
            self.note = "The system's file dialog is not available: type the path.";
            return None;
        }
        Some(chosen)
    }
}

/// Expands a leading `~/`, like a shell.
fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}
