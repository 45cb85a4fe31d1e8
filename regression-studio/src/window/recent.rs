//! Recently opened tables and runs. The window remembers them between sessions.

use std::path::{Path, PathBuf};

use eframe::egui::{Context, Id, RichText, Ui};
use serde::{Deserialize, Serialize};

use super::dialogs::Purpose;

/// Maximum number of remembered paths of each kind.
const MAX: usize = 8;

/// The paths, latest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Recent {
    tables: Vec<PathBuf>,
    runs: Vec<PathBuf>,
}

impl Recent {
    fn of(context: &Context) -> Self {
        context.data_mut(|data| data.get_persisted(Id::unique("recent"))).unwrap_or_default()
    }
}

/// Remembers an opened table or run's folder.
pub(crate) fn remember(purpose: Purpose, path: &Path, context: &Context) {
    let Ok(path) = std::path::absolute(path) else { return };
    let mut recent = Recent::of(context);
    let paths = match purpose {
        Purpose::OpenData => &mut recent.tables,
        Purpose::OpenRun | Purpose::SaveRun => &mut recent.runs,
        Purpose::PredictFile | Purpose::SavePredictions => return,
    };
    paths.retain(|other| *other != path);
    paths.insert(0, path);
    paths.truncate(MAX);
    context.data_mut(|data| data.insert_persisted(Id::unique("recent"), recent));
}

/// A menu of the remembered paths that exist. Returns the chosen path and its purpose.
pub(crate) fn menu(ui: &mut Ui, is_enabled: bool) -> Option<(Purpose, PathBuf)> {
    let mut chosen = None;
    ui.add_enabled_ui(is_enabled, |ui| {
        let menu = ui.menu_button("Recent", |ui| {
            let recent = Recent::of(ui.ctx());
            let kinds = [("Tables", Purpose::OpenData, recent.tables), ("Runs", Purpose::OpenRun, recent.runs)];
            let existing = kinds.map(|(kind, purpose, mut paths)| {
                paths.retain(|path| path.exists());
                (kind, purpose, paths)
            });
            if existing.iter().all(|(_, _, paths)| paths.is_empty()) {
                ui.label("No table or run was opened yet.");
            }
            for (kind, purpose, paths) in existing.into_iter().filter(|(_, _, paths)| !paths.is_empty()) {
                ui.label(RichText::new(kind).small().weak());
                for path in paths {
                    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                    if ui.button(name).on_hover_text(path.display().to_string()).clicked() {
                        chosen = Some((purpose, path));
                    }
                }
            }
        });
        menu.response.on_hover_text("Open a table or a run again");
    });
    chosen
}
