//! Dialogs: what went wrong, which file, which keys.

mod path;

use eframe::egui::{self, Context, Key, RichText, Ui};

pub(crate) use self::path::{PathDialog, Purpose};
use super::action::KEYS;
use super::theme;

/// Something that went wrong, and what to do.
pub(crate) struct Failure {
    /// What could not be done.
    pub(crate) title: &'static str,
    /// Why: one line that names file, row or field.
    pub(crate) message: String,
    /// What to do now.
    pub(crate) way_out: &'static str,
}

/// Shows what went wrong. Returns whether the user has read it.
pub(crate) fn failure(context: &Context, failure: &Failure) -> bool {
    dialog(context, "failure", |ui| {
        let red = theme::palette(ui).red;
        ui.label(RichText::new(format!("⚠ {}", failure.title)).heading().color(red));
        ui.add_space(4.0);
        ui.label(&failure.message);
        ui.label(RichText::new(failure.way_out).weak());
        ui.add_space(8.0);
        close_button(ui, "OK")
    })
}

/// Lists all keys. Returns whether the user has read them.
pub(crate) fn keys(context: &Context) -> bool {
    dialog(context, "keys", |ui| {
        ui.heading("Keys");
        ui.label("Tab and Shift+Tab go from one input to the next; Enter or Space press the button that is marked.");
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

/// A dialog that ends by its button, Escape or a click beside it. Returns whether it has ended.
fn dialog(context: &Context, name: &str, contents: impl FnOnce(&mut Ui) -> bool) -> bool {
    let frame = egui::Frame::window(&context.style_of(context.theme()));
    let modal = egui::Modal::new(egui::Id::unique(name)).frame(frame);
    let response = modal.show(context, |ui| {
        ui.set_width(520.0_f32.min(context.content_rect().width() - 64.0));
        contents(ui)
    });
    response.inner || response.should_close()
}

/// A button that Enter presses at once. Returns whether it was pressed.
fn close_button(ui: &mut Ui, text: &str) -> bool {
    let button = ui.add(theme::primary_button(ui, text));
    if ui.memory(|memory| memory.focused().is_none()) {
        button.request_focus();
    }
    button.clicked() || ui.input(|input| input.key_pressed(Key::Enter))
}
