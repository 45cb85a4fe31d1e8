//! Dialogs for failures, paths and the list of keys.

mod path;

use eframe::egui::{self, Context, Key, RichText, Ui};

pub(crate) use self::path::{PathDialog, Purpose};
use super::action::KEYS;
use super::theme;

/// A failed operation.
pub(crate) struct Failure {
    /// Name of the operation and that it failed.
    pub(crate) title: &'static str,
    /// The reason, in one line with the file, row or field.
    pub(crate) message: String,
    /// Hint on how to continue.
    pub(crate) hint: &'static str,
}

/// Shows a failure. Returns whether the user closed the dialog.
pub(crate) fn failure(context: &Context, failure: &Failure) -> bool {
    dialog(context, "failure", |ui| {
        let red = theme::palette(ui).red;
        ui.label(RichText::new(format!("⚠ {}", failure.title)).heading().color(red));
        ui.add_space(4.0);
        ui.label(&failure.message);
        ui.label(RichText::new(failure.hint).weak());
        ui.add_space(8.0);
        close_button(ui, "OK")
    })
}

/// Asks a question with one button per answer; the first is the default. Returns the index of the
/// chosen answer, or of the last one if the dialog was closed.
pub(crate) fn question(context: &Context, title: &str, lines: &[String], answers: &[&str]) -> Option<usize> {
    let mut chosen = None;
    let is_closed = dialog(context, "question", |ui| {
        ui.heading(title);
        ui.add_space(4.0);
        for line in lines {
            ui.label(line);
        }
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            for (index, answer) in answers.iter().enumerate() {
                let button = match index {
                    0 => theme::primary_button(ui, answer),
                    _ => egui::Button::new(*answer),
                };
                let button = ui.add(button);
                if index == 0 && ui.memory(|memory| memory.focused().is_none()) {
                    button.request_focus();
                }
                if button.clicked() {
                    chosen = Some(index);
                }
            }
        });
        chosen.is_some()
    });
    chosen.or_else(|| is_closed.then(|| answers.len() - 1))
}

/// Shows what the program is waiting for.
pub(crate) fn waiting(context: &Context, text: &str) {
    dialog(context, "waiting", |ui| {
        ui.horizontal(|ui| {
            ui.spinner();
            ui.label(text);
        });
        false
    });
}

/// Lists all keys. Returns whether the user closed the dialog.
pub(crate) fn keys(context: &Context) -> bool {
    dialog(context, "keys", |ui| {
        ui.heading("Keys");
        ui.label("Tab and Shift+Tab move between inputs; Enter or Space press the focused button.");
        ui.add_space(4.0);
        egui::Grid::new("keys").num_columns(2).spacing([24.0, 6.0]).show(ui, |ui| {
            for (key, action) in KEYS {
                ui.label(RichText::new(context.format_shortcut(&key)).strong());
                ui.label(action.explanation());
                ui.end_row();
            }
        });
        ui.add_space(8.0);
        close_button(ui, "Close")
    })
}

/// A modal dialog that its button, Escape or a click outside closes. Returns whether it was closed.
fn dialog(context: &Context, name: &str, contents: impl FnOnce(&mut Ui) -> bool) -> bool {
    let frame = egui::Frame::window(&context.style_of(context.theme()));
    let modal = egui::Modal::new(egui::Id::unique(name)).frame(frame);
    let response = modal.show(context, |ui| {
        ui.set_width(520.0_f32.min(context.content_rect().width() - 64.0));
        contents(ui)
    });
    response.inner || response.should_close()
}

/// The default button, also pressed by Enter. Returns whether it was pressed.
fn close_button(ui: &mut Ui, text: &str) -> bool {
    let button = ui.add(theme::primary_button(ui, text));
    if ui.memory(|memory| memory.focused().is_none()) {
        button.request_focus();
    }
    button.clicked() || ui.input(|input| input.key_pressed(Key::Enter))
}
